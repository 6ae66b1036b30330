"""From the log of a failed build to the message that a person reads.

log -> (nvcc_log) -> records (compiler_log) -> moved to the user's own lines -> causes before consequences -> advice -> Diagnostic

One plain sentence helps with the mistakes that beginners make: its rules stand in the modules `advice_*`, which are asked in
the order of `_asked`. g++ and clang++ word most things differently, so most patterns have two halves;
`tests/compiling/mistakes.py` and its neighbours hold wrong texts for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import causes
from .compiler_log import Record, read
from .nvcc_log import in_words_of_gcc
from .source_text import line_of

_GUESS = re.compile(
    r";? \(?(?:did you mean|maybe you meant)[^?]*\?\)?|; did you forget to [^?]*\?|; (?:dereference with \*|take the address with &)"
)
_CODE_POINT = re.compile(r"\\U0{0,4}([0-9a-fA-F]{4,5})")

_LONGEST_MESSAGE = 300
_MOST_NOTES = 8
_MOST_DIAGNOSTICS = 40
#: Only the first ones are read; names are compared with thousands of others for each piece of advice.
_MOST_ADVISED = 8


@dataclass(frozen=True)
class Diagnostic:
    """One thing that compiler, linker or loader said about a kernel.

    Attributes:
        kernel: label, `lltm/fused@2`.
        file: name of the text, `lltm/fused`, `lltm/fused (binding)`; the path of a header; empty when unknown.
        line, column: from 1; 0 when unknown.
        severity: "error" or "warning".
        message: what the compiler said, in one line.
        notes: what goes with it: candidates, the line that asked for a template.
        excerpt: the line and the one before it, from the user's own text, with a caret.
        help: one or two plain sentences that mend it, or nothing.

    Example:
        >>> print(Diagnostic("lltm/fused@2", "lltm/fused", 3, 1, "error", "expected '}'", help="Add it."))
        lltm/fused@2:3:1: expected '}'. Add it.
    """

    kernel: str
    file: str
    line: int
    column: int
    severity: str
    message: str
    notes: tuple[str, ...] = ()
    excerpt: str = ""
    help: str = ""

    @property
    def place(self) -> str:
        """File, line and column as they are printed: the kernel's label stands for its main text."""
        name = self.kernel.partition("@")[0]
        file = (
            self.kernel + self.file[len(name) :]
            if self.file == name or self.file.startswith(f"{name} (")
            else self.file
        )
        return ":".join([file or self.kernel, *(str(number) for number in (self.line, self.column) if number)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Diagnostic:
        """Make a diagnostic of what `to_dict` returned, before or after JSON."""
        return cls(**{**values, "notes": tuple(values.get("notes", ()))})

    def __str__(self) -> str:
        kind = "warning: " if self.severity == "warning" else ""
        message = _shorten(self.message)
        if self.help:
            message += " " if message.endswith((".", "?", "!")) else ". "
        head = f"{self.place}: {kind}{message}{self.help}"
        return f"{head}\n{self.excerpt}" if self.excerpt else head


def parse(log: str, *, label: str, sources: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Read what compiler, linker and loader said about a kernel.

    Args:
        log: their output, ninja's lines included.
        label: the kernel, `lltm/fused@2`.
        sources: the texts by the name that `#line` gives them, `{"lltm/fused": text, "lltm/fused (binding)": text}`.

    Returns:
        Errors, the cause before its consequences, then warnings worth telling; each thing once.

    Example:
        >>> log = "op/mine:1:14: error: expected ';' before '}' token"
        >>> [found] = parse(log, label="op/mine@1", sources={"op/mine": "f() { return 1 }"})
        >>> print(found)
        op/mine@1:1:14: expected ';' before '}' token. A ';' is missing at the end of this statement.
          -> 1 | f() { return 1 }
               |              ^
    """
    records = causes.arrange(read(in_words_of_gcc(log, sources)), sources)[:_MOST_DIAGNOSTICS]
    certain = records[0].rank if records else 0
    for record in records[:_MOST_ADVISED]:
        # Behind a bracket or a quote without partner all else is noise, and advice on it misleads.
        if certain > 1 or record.rank in (certain, 8):
            _advise(record)
    return tuple(_diagnostic(record, label, sources) for record in records)


def _asked() -> tuple[Any, ...]:
    """Return what is asked for advice, in this order: imported with the first error, as an import of all patterns takes a while."""
    from . import advice_cuda, advice_habits, advice_names, advice_pairs, advice_tensors, advice_types

    return advice_habits, advice_tensors, advice_cuda, advice_names, advice_types, advice_pairs


def _advise(record: Record) -> None:
    """Give a record its `help`, and take the compiler's own guess out of its message."""
    if not record.help:
        record.help = next((sentence for part in _asked() if (sentence := part.rules.help(record))), "")
    if not record.help and record.header and record.trail and record.severity == "error":
        record.help = (
            "A template that this line uses does not take what it is given: compare types and number of the arguments."
        )
    record.message = _CODE_POINT.sub(r"<U+\1>", _GUESS.sub("", record.message)).strip()


def _diagnostic(record: Record, label: str, sources: Mapping[str, str]) -> Diagnostic:
    notes = [*record.notes, *record.trail]
    # The way through somebody else's headers helps nobody; the log has it.
    kept = [
        f"{note.file}:{note.line}: {note.message}" if note.line else note.message
        for note in notes
        if note.file in sources or not note.file
    ]
    source = sources.get(record.file, "")
    if source and record.column > len(line_of(source, record.line).encode()) + 1:
        record.column = 0  # device cuda-cpu has made the line longer
    excerpt = excerpt_of(source, record.line, record.column)
    return Diagnostic(
        label,
        record.file,
        record.line,
        record.column,
        record.severity,
        record.message,
        tuple(dict.fromkeys(kept))[:_MOST_NOTES],
        excerpt,
        record.help,
    )


def excerpt_of(text: str, line: int, column: int) -> str:
    """Show a line of a text, the one before it, and a caret under the column, unless that is 0; nothing for a line that is not there.

    Example:
        >>> print(excerpt_of("int x = 1;\\nint y = foo;", 2, 9))
             1 | int x = 1;
          -> 2 | int y = foo;
               |         ^~~
    """
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    width = len(str(line))
    rows = [f"     {number:>{width}} | {_flat(lines[number - 1])}".rstrip() for number in (line - 1,) if number]
    rows.append(f"  -> {line} | {_flat(lines[line - 1])}".rstrip())
    if column:
        word = re.match(r"\w+", lines[line - 1][column - 1 :])
        rows.append(f"     {' ' * width} | {' ' * (column - 1)}^{'~' * (len(word[0]) - 1 if word else 0)}")
    return "\n".join(rows)


def _flat(line: str) -> str:
    # A tab is one column for the compilers: keep the caret under its place.
    return line.replace("\t", " ").replace("\r", "")


def describe(
    kernel_label: str,
    diagnostics: Sequence[Diagnostic],
    *,
    compiler: str,
    torch_version: str,
    parent: str,
    changed_lines: int | None,
    log: str,
) -> str:
    """Write the message of a `BuildError`.

    Args:
        kernel_label, diagnostics, compiler, torch_version: what did not compile, as `parse` found it, and by what.
        parent: label of the revision this one was edited from, or nothing.
        changed_lines: how many lines the edit changed, None when unknown.
        log: the full text; the message only says how long it is.

    Example:
        >>> about = {"compiler": "g++ 12.2.0", "torch_version": "2.13.0", "parent": "a/b", "log": ""}
        >>> print(describe("a/b@1", (), changed_lines=1, **about))
        kernel 'a/b@1' did not compile (g++ 12.2, torch 2.13)
          1 line differs from a/b: li.diff("a/b", "a/b@1").
    """
    lines = [
        f"kernel {kernel_label!r} did not {_stage(diagnostics, log)} ({_minor(compiler)}, torch "
        f"{_minor(torch_version)})"
    ]
    if diagnostics:
        lines += [f"  {diagnostics[0].place}{str(diagnostics[0])[len(diagnostics[0].place) :]}"]
        lines += _others(diagnostics)
    else:
        lines += [f"  {_shorten(line)}" for line in log.strip().split("\n")[-5:] if line.strip()]
    last = []
    if parent and changed_lines is not None:
        differ = f"{changed_lines} line differs" if changed_lines == 1 else f"{changed_lines} lines differ"
        last.append(f'{differ} from {parent}: li.diff("{parent}", "{kernel_label}").')
    if log.strip():
        count = len(log.strip().split("\n"))
        last.append(f"Full log: .log of this error, {count} line{'s' * (count != 1)}")
    if last:
        lines.append("  " + "  ".join(last))
    return "\n".join(lines)


def _stage(diagnostics: Sequence[Diagnostic], log: str) -> str:
    first = diagnostics[0].message if diagnostics else log
    if "defined nowhere" in first or "defined several times" in first or "the linker cannot" in first:
        return "load" if "undefined symbol: _Z" in log and "ld: error" not in log else "link"
    return "compile"


def _others(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Tell how much more there is: only the first error is shown, the others are mostly its consequences."""
    rows = []
    for kind in ("error", "warning"):
        rest = [item for item in diagnostics[1:] if item.severity == kind]
        if rest:
            at = sorted({item.line for item in rest if item.file == diagnostics[0].file and item.line})
            where = f" (line{'s' * (len(at) > 1)} {', '.join(map(str, at[:6]))}{', ...' * (len(at) > 6)})" if at else ""
            rows.append(f"  {len(rest)} more {kind}{'s' * (len(rest) > 1)}{where} in error.diagnostics")
    return rows


def _minor(version: str) -> str:
    """Cut a version to its first two numbers: `g++ 12.2.0` to `g++ 12.2`, `2.13.0+cpu` to `2.13`."""
    return re.sub(r"(\d+\.\d+)\.\d\S*", r"\1", version)


def _shorten(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 3] + "..."
