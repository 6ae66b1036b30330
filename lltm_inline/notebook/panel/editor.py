"""What stands beside the text in the editor: a control for each param, a mark for each error, and the change that a hint proposes.

What the value of a param is, and how the text uses it, says which control fits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...analysis.why import Remark
from ...autopsy.crash import Crash
from ...base.device import DEVICES
from ...diagnosis.diagnostics import Diagnostic
from ...model.kernel import Kernel

#: A power of two may go so many times up, and down.
_FACTOR = 64
#: Blocks of CUDA threads: a warp at least, and no GPU takes more than 1024.
_THREADS = ("THREADS", 32, 1024)
#: Beyond this a slider is too coarse for numbers that are no powers of two.
_MOST_STEPS = 1000


def controls_of(kernel: Kernel, params: Mapping[str, int | float] | None = None) -> list[dict[str, Any]]:
    """List a control for each param of a kernel.

    Args:
        kernel: its params say what is usual, and its texts how they are used.
        params: the values as they stand, which a control must be able to show.

    Returns:
        Dicts with `name`, `kind` (`slider`, `choice` or `number`), `step`, `log` and `options`, and for a slider `min` and
        `max`. The step of a slider with `log` is a factor.

    Example:
        >>> [one] = controls_of(Kernel("axpy/mine", cpp="...", params={"UNROLL": 8}))
        >>> one["kind"], one["log"], one["min"], one["max"]
        ('slider', True, 1, 512)
    """
    now = {**kernel.params, **(params or {})}
    text = "\n".join(kernel.sources.values())
    return [_control(name, value, now[name], text) for name, value in kernel.params.items()]


def _control(name: str, usual: int | float, value: int | float, text: str) -> dict[str, Any]:
    number: dict[str, Any] = {"name": name, "kind": "number", "step": 1, "log": False, "options": []}
    slider = {**number, "kind": "slider"}
    options = _options(name, usual, text)
    if options:
        return {**number, "kind": "choice", "options": sorted({*options, int(value)})}
    if _is_power(usual) and _is_power(value):
        least, most = _THREADS[1:] if name == _THREADS[0] else (max(1, int(usual) // _FACTOR), int(usual) * _FACTOR)
        return {**slider, "min": min(least, int(value)), "max": max(most, int(value)), "step": 2, "log": True}
    if isinstance(usual, float) or isinstance(value, float):  # from nothing to twice the usual
        if usual == 0 or not math.isfinite(2.0 * usual):
            return {**number, "step": 0.1}
        ends = (0.0, 2.0 * usual, float(value))
        return {**slider, "min": min(ends), "max": max(ends), "step": 10.0 ** math.floor(math.log10(abs(usual) / 5))}
    most = 4 * abs(int(usual))
    if usual in (0, 1) or most > _MOST_STEPS:
        return number
    return {**slider, "min": min(0 if usual > 0 else -most, value), "max": max(most, value)}


def _is_power(value: int | float) -> bool:
    return isinstance(value, int) and value > 1 and value & (value - 1) == 0


def _options(name: str, value: int | float, text: str) -> set[int]:
    """Find the values that a text tells apart: those it compares with, or 0 and 1 where it only asks whether it is set."""
    if not isinstance(value, int) or value not in range(10):
        return set()
    compared = {int(number) for number in re.findall(rf"\b{name}\s*[=!]=\s*(\d)\b(?![.\d])", text)}
    if compared:
        return {0, *compared, int(value)}
    asked = re.search(
        rf"(?:\bif\s+(?:constexpr\s*)?\(|\bif\s*\(|#\s*(?:el)?if\s+|[!&|]\s*|^|[=(,]\s*){name}\s*(?:\)|\?|&&|\|\||$)",
        text,
        re.MULTILINE,
    )
    return {0, 1} if isinstance(value, bool) or (asked and value in (0, 1)) else set()


_SUGGESTED = re.compile(r"Did you mean '([\w:]+)'[?,]")
_SEMICOLON = "A ';' is missing at the end of this statement."
_WORD = re.compile(r"[A-Za-z_]\w*")


def marks_of(kernel: Kernel, device: str, diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Make a mark of each diagnostic that has a line in one of the kernel's texts.

    Args:
        kernel: that was built.
        device: for which: it decides which text is meant.
        diagnostics: of a `BuildError`.

    Returns:
        Dicts with `kind` (of the text), `line`, `text` (of the line), `column`, `end_column`, `severity`, `message`, `advice`
        and `fix`.
    """
    marks = []
    for one in diagnostics:
        kind = _kind_of(kernel, device, one.file)
        lines = getattr(kernel, kind).split("\n") if kind else []
        if 0 < one.line <= len(lines):
            line = lines[one.line - 1]
            one = _at_name(one, line)
            word = _WORD.match(line, max(0, one.column - 1)) if one.column else None
            severity = "warning" if one.severity == "warning" else "error"
            end = word.end() + 1 if word else one.column + bool(one.column)
            place = {"column": one.column, "end_column": end, "fix": fix_of(one, line)}
            marks.append({**_of_line(kernel, kind, one.line, severity, one.message, one.help), **place})
    return marks


def _at_name(one: Diagnostic, line: str) -> Diagnostic:
    """Point at the function that is wrong: g++ names it, and points at the bracket behind it."""
    if line[one.column - 1 : one.column] != "(" or not one.column:
        return one
    found = _named(one, line)
    called = [word for word in found if not line[word.end() : one.column - 1].strip() and word.end() < one.column]
    places = called or found
    return replace(one, column=places[0].start() + 1) if len(places) == 1 else one


def _named(one: Diagnostic, line: str) -> list[re.Match[str]]:
    """Find the words of a line that stand in quotes in what the compiler says of it."""
    quoted = set(_WORD.findall(" ".join(one.message.split("'")[1:-1:2])))
    return [word for word in _WORD.finditer(line) if word[0] in quoted]


def mark_of_crash(kernel: Kernel, device: str, crash: Crash) -> list[dict[str, Any]]:
    """Make a mark of the line in which a kernel crashed; none where the line is unknown."""
    file, _, number = crash.place.rpartition(":")
    if not number.isdecimal() or not file.startswith(kernel.label):
        return []
    kind = _kind_of(kernel, device, kernel.name + file[len(kernel.label) :])
    if not kind:
        return []
    told = ": ".join(filter(None, (crash.sentence, crash.detail)))
    return [_of_line(kernel, kind, int(number), "crash", told, crash.cause)]


def marks_of_remarks(kernel: Kernel, remarks: Iterable[Remark]) -> list[dict[str, Any]]:
    """Make a mark of each thing that the compiler says of a line of the C++ text; those that something would help are `remark`."""
    return [
        _of_line(kernel, "cpp", one.line, "remark" if one.help else "done", f"{one.what}: {one.how}", one.help)
        for one in remarks
    ]


def marks_of_words(kernel: Kernel, message: str) -> list[dict[str, Any]]:
    """Make a mark of an error that names its line in words, as a `TemplateError` does."""
    named = re.search(r", (cpp|cuda|binding) line (\d+): (.*)", message, re.DOTALL)
    if named is None or named[1] not in kernel.sources:
        return []
    return [_of_line(kernel, named[1], int(named[2]), "error", named[3])]


def _of_line(kernel: Kernel, kind: str, number: int, severity: str, message: str, advice: str = "") -> dict[str, Any]:
    """Mark a whole line; one that the text does not have is empty."""
    text = dict(enumerate(kernel.sources[kind].split("\n"), 1)).get(number, "")
    where = {"kind": kind, "line": number, "text": text, "column": 0, "end_column": 0}
    return {**where, "severity": severity, "message": message, "advice": advice, "fix": None}


def _kind_of(kernel: Kernel, device: str, file: str) -> str:
    """Tell which text of a kernel the compiler calls `file`; nothing for a header or what is generated."""
    if not file.startswith(kernel.name):
        return ""
    kinds = {"": DEVICES[device].text, " (cpp)": "cpp", " (cuda)": "cuda"}
    kind = kinds.get(file[len(kernel.name) :], "binding" if file.endswith(" (binding)") else "")
    return kind if kind in kernel.sources else ""


def fix_of(one: Diagnostic, line: str) -> dict[str, Any] | None:
    """Make of a hint the change that a person would make by hand; None where it takes more than a word.

    Args:
        one: what the compiler said, with our hint.
        line: of the text.

    Returns:
        `line`, `column`, `from` (the word that stands there, nothing for an insertion) and `to`.

    Example:
        >>> hint = Diagnostic("a/b", "a/b", 3, 10, "error", "'tanhh' is not a member of 'std'", help="Did you mean 'tanh'?")
        >>> fix_of(hint, "y = std::tanhh(x);")
        {'line': 3, 'column': 10, 'from': 'tanhh', 'to': 'tanh'}
    """
    if one.help.startswith(_SEMICOLON) and one.column:
        return {"line": one.line, "column": one.column, "from": "", "to": ";"}
    suggested = _SUGGESTED.search(one.help)
    to = suggested[1] if suggested else ""
    place = _wrong_word(one, line, to) if to else None
    if place is None:
        return None
    start = place.start()
    qualifier = to.rpartition("::")[0]
    if qualifier and line[:start].endswith(f"{qualifier}::"):
        start -= len(qualifier) + 2
    return {"line": one.line, "column": start + 1, "from": line[start : place.end()], "to": to}


def _wrong_word(one: Diagnostic, line: str, to: str) -> re.Match[str] | None:
    """Find the word that the compiler complains of: at its column, or the one place in the line where it stands."""
    found = _named(one, line)
    for word in found:
        if word.start() == one.column - 1 and word[0] != to:
            return word
    near = [word for word in found if word.end() >= one.column and word[0] not in to.split("::")]
    return near[0] if len({word[0] for word in near}) == 1 else None


def fixed(text: str, fix: dict[str, Any]) -> str | None:
    """Make the change of a fix; None when the line has changed meanwhile.

    Example:
        >>> fixed("a\\nb = c(d)", {"line": 2, "column": 5, "from": "c", "to": "e"})
        'a\\nb = e(d)'
    """
    lines = text.split("\n")
    if not 0 < fix["line"] <= len(lines):
        return None
    line, start = lines[fix["line"] - 1], fix["column"] - 1
    old = fix["from"]
    if start > len(line) or line[start : start + len(old)] != old:
        return None
    lines[fix["line"] - 1] = line[:start] + fix["to"] + line[start + len(old) :]
    return "\n".join(lines)


def without_place(marks: Sequence[dict[str, Any]], diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """List the errors that no mark shows: of the linker, of a header, of what is generated."""
    shown = {(mark["line"], mark["message"]) for mark in marks}
    return [one for one in diagnostics if one.severity == "error" and (one.line, one.message) not in shown]
