"""The text of g++, clang++, the linkers and the loader, read into records.

Nothing is judged here: every error and warning becomes one `Record`, with the notes that belong to it and the
chain of instantiations that led to it. Lines of ninja, excerpts and carets are passed over.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from .source_text import line_of, mask

_PLACE = re.compile(
    r"(?P<file>[^\n]+?):(?P<line>\d+):(?:(?P<column>\d+):)? "
    # Of a linker that knows the line (gold), the name alone is read: it is looked for in the text, where it has a column as well.
    r"(?P<severity>fatal error|internal compiler error|sorry, unimplemented|error|warning|note): "
    r"(?P<message>(?!undefined reference to ).*)"
)
#: g++ names the way to an instantiation before the error.
_REQUIRED = re.compile(
    r"(?P<file>[^\n]+?):(?P<line>\d+):(?:(?P<column>\d+):)?\s+"
    r"(?P<message>(?:recursively )?required (?:from|by).*|in 'constexpr' expansion of.*)"
)
#: g++ puts the way to a header into one sentence, the innermost file first; clang++ writes a sentence for each.
_INCLUDED = re.compile(r"(?:In file included|\s+) from (?P<file>[^\n]+?):(?P<line>\d+)(?::\d+)?[,:]$")
_LINKER = re.compile(
    r"""undefined\ (?:reference\ to|symbol:?)\s+(?P<symbol>[`'"]?[^\n]+)
      | (?:multiple\ definition\ of|duplicate\ symbol:?)\s+(?P<duplicate>[^\n;]+)
      | cannot\ find\ (?P<library>-l\S+)""",
    re.X,
)
_DRIVER = re.compile(
    r"(?:\S+: )?(?:fatal error: |error: |LLVM ERROR: )?"
    r"(?P<message>Killed signal terminated program \S+|virtual memory exhausted.*|out of memory.*"
    r"|.*No space left on device.*|unable to execute command: Killed.*|unrecognized (?:command[- ]line )?option.*"
    r"|unknown argument:? .*|unsupported option .*|nvcc: .*)"
)
_FLAG = re.compile(r" \[(-[\w+=-]+(?:,-[\w+=-]+)*)\]$")
#: An operator that fits no type has hundreds of candidates.
_MOST_NOTES = 50


@dataclass(frozen=True)
class Note:
    """One line that goes with an error: a candidate, a declaration, an instantiation."""

    file: str
    line: int
    column: int
    message: str
    #: The line that the compiler shows below it.
    shown: str = ""


@dataclass
class Record:
    """One error or warning as the compiler gave it; stages of the parser move and reword it."""

    file: str
    line: int
    column: int
    severity: str
    message: str
    flag: str = ""
    #: The way to an instantiation, innermost first.
    trail: list[Note] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    #: What a sorter has made of it: causes before consequences.
    rank: int = 3
    #: Set where the stage that moved the record already knows the cure.
    help: str = ""
    #: The lines that include the file in which the error is.
    included: list[Note] = field(default_factory=list)
    #: The header that the error itself is in, for a record that was moved to the line that asked for it.
    header: str = ""
    #: The name that the linker or loader missed.
    symbol: str = ""
    #: The user's texts by the name that `#line` gives them.
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The user's text that it is about, or nothing."""
        return self.sources.get(self.file, "")

    @property
    def row(self) -> str:
        """The line that it is about, or nothing."""
        return line_of(self.text, self.line)

    @property
    def code(self) -> str:
        """The line that it is about, with comments and strings blank."""
        return line_of(mask(self.text), self.line)

    @property
    def called(self) -> str:
        """The name of the function that is called at its place, or nothing."""
        start = max(self.column - 1, 0)
        if self.code[start : start + 1] == "(":  # g++ points to the bracket, clang++ to the name
            match = re.search(r"(\w+)\s*(?:<[^;<>]*>)?\s*$", self.code[:start])
        else:
            match = re.match(r"(?:\w+(?:::|\.|->))*(\w+)\s*(?:<[^;]*?>)?\s*\(", self.code[start:])
        return match[1] if match else ""

    @property
    def said(self) -> str:
        """The message, and what is said in its notes."""
        return " ; ".join([self.message, *(note.message for note in self.notes)])

    @property
    def guess(self) -> str:
        """What the compiler suggests in place of a name; it often lies, so never print it unasked."""
        match = re.search(r"did you mean '([^']+)'\?", self.message)
        return match[1] if match else ""


def read(log: str) -> list[Record]:
    """Read errors and warnings in the order of a log, with or without excerpts; a line that is repeated word for word only once.

    Example:
        >>> [record] = read("lltm/fused:5:15: error: expected ';' before '}' token")
        >>> record.line, record.column, record.message
        (5, 15, "expected ';' before '}' token")
    """
    records: list[Record] = []
    trail: list[Note] = []
    included: list[Note] = []
    seen: set[tuple[str, ...]] = set()
    taking_notes = goes_on = True
    lines = (
        log.replace("\N{LEFT SINGLE QUOTATION MARK}", "'").replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").splitlines()
    )
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if " from " in line and (match := _INCLUDED.match(line)):
            included = [*(included if goes_on else []), Note(match["file"], int(match["line"]), 0, "included here")]
            trail, goes_on = [], True
            continue
        goes_on = False
        # Excerpts are most of a long log: leave them before any regular expression runs.
        if line[:1] == " " and "required" not in line and "undefined" not in line:
            continue
        if ": In " in line or ": At " in line or line.startswith("In file included"):
            trail = []
            continue
        if "required " in line and (match := _REQUIRED.match(line)):
            trail.append(_note(match))
        elif ": note: " in line:
            if taking_notes and records and (match := _PLACE.match(line)):
                _add_note(records[-1], _note(match, re.sub(r"^ *\d+ \| *", "", below)))
        elif ": " in line and (match := _PLACE.match(line)):
            # The body of an AT_DISPATCH is compiled once for every dtype, and says the same each time.
            key = (line, *(note.message for note in trail[-1:]), *(str(note.line) for note in trail[-1:]))
            taking_notes = key not in seen
            seen.add(key)
            if (
                taking_notes
                and records
                and records[-1].notes
                and (
                    records[-1].notes[-1].message.endswith("would be ill-formed:")
                    or ("substitution failed:" in records[-1].notes[-1].message and "constant expr" in match["message"])
                )
            ):
                records[-1].message = match["message"]  # what g++ says of the one candidate that nearly fits
            elif taking_notes:
                records.append(_record(match, trail, included))
        elif (line,) not in seen:
            seen.add((line,))
            records.extend(_elsewhere(line))
    return records


def _note(match: re.Match[str], shown: str = "") -> Note:
    return Note(match["file"], int(match["line"]), int(match["column"] or 0), match["message"].strip(), shown)


def _add_note(record: Record, note: Note) -> None:
    notes = record.trail if "requested here" in note.message else record.notes
    if len(notes) < _MOST_NOTES:
        notes.append(note)


def _record(match: re.Match[str], trail: list[Note], included: list[Note]) -> Record:
    message = match["message"]
    flag = _FLAG.search(message)
    severity = "warning" if match["severity"] == "warning" else "error"
    if flag:
        message = message[: flag.start()]
    if match["severity"] == "internal compiler error":
        message = f"internal compiler error: {message}"
    return Record(
        match["file"],
        int(match["line"]),
        int(match["column"] or 0),
        severity,
        message,
        flag[1] if flag else "",
        trail=list(trail),
        included=included,
    )


def _elsewhere(line: str) -> Iterator[Record]:
    """Read a line that names no place in a source: linker, loader, or the driver itself."""
    if ("undefined" in line or "symbol" in line or "multiple def" in line or "cannot find" in line) and (
        match := _LINKER.search(line)
    ):
        if match["library"]:
            yield Record("", 0, 0, "error", f"the linker cannot find {match['library']}")
            return
        raw = match["symbol"] or match["duplicate"]
        symbol = demangle(raw.strip().strip("`'\"").rstrip(";"))
        what = "is defined several times" if match["duplicate"] else "is declared and used, but defined nowhere"
        yield Record("", 0, 0, "error", f"'{symbol}' {what}", symbol=symbol)
    elif match := _DRIVER.match(line):
        yield Record("", 0, 0, "error", match["message"])


@lru_cache(maxsize=256)
def demangle(symbol: str) -> str:
    """Turn a linker's name into the C++ one, `_Z4gatef` into `gate(float)`; without `c++filt` on the machine only into `gate`.

    Example:
        >>> demangle("gate(float)")
        'gate(float)'
    """
    symbol = symbol.split(" (")[0] if symbol.startswith("_Z") else symbol
    if not symbol.startswith("_Z"):
        return symbol
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if tool:
        done = subprocess.run(
            [tool, symbol], capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=False
        )
        if done.returncode == 0 and not done.stdout.startswith("_Z"):
            return done.stdout.strip()
    return demangle_name(symbol)


def demangle_name(mangled: str) -> str:
    """Read the plain name out of a mangled one, argument types left away.

    Example:
        >>> demangle_name("_ZN2at7sigmoidERKNS_6TensorE")
        'at::sigmoid'
    """
    position = re.match(r"_Z(?:N[KVrRO]*)?(?:St)?", mangled)
    rest = mangled[position.end() :] if position else mangled
    parts = ["std"] if mangled.startswith(("_ZSt", "_ZNSt")) else []
    while match := re.match(r"(\d+)", rest):
        length = int(match[1])
        parts.append(rest[match.end() : match.end() + length])
        rest = rest[match.end() + length :]
        if not mangled.startswith("_ZN"):
            break
    return "::".join(parts) or mangled


def plain_name(symbol: str) -> str:
    """Return the last part of a qualified name: `gate` for `lltm::gate<float>(float)`.

    Example:
        >>> plain_name("void lltm::gate<float>(float, int)")
        'gate'
    """
    return bare(re.sub(r"\(.*", "", symbol)).split("::")[-1].split(" ")[-1].lstrip("*&")


def bare(name: str) -> str:
    """Leave out what stands between < and >.

    Example:
        >>> bare("std::map<int, std::pair<int, int>>::at")
        'std::map::at'
    """
    while name != (less := re.sub(r"<[^<>]*>", "", name)):
        name = less
    return name
