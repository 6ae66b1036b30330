"""Source texts: colours, line numbers, marked lines with what is to be said of them under them, and differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .markup import Html, hidden, join, tag

#: Of a longer text only the first lines are coloured and shown: a page of 100 000 lines helps nobody.
MOST_LINES = 5000

#: A line: the Pygments class of each piece, and its text.
Line = list[tuple[str, str]]

_POINTER = "▶ "
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Mark:
    """Something to say of a line.

    Attributes:
        line: as it is numbered.
        message: what to say under it: text, or HTML.
        kind: `bad`, `good` or `plain`.
        column, width: what of the line is meant, from 1; 0 for all of it.
    """

    line: int
    message: str = ""
    kind: str = "bad"
    column: int = 0
    width: int = 1


def source(
    text: str,
    *,
    marks: Sequence[Mark] = (),
    first_line: int = 1,
    language: str = "cpp",
    label: str = "source",
) -> Html:
    """Show a text with line numbers and colours; marked lines have their message under them.

    Args:
        text: the source.
        marks: what to say of which line.
        first_line: number of the first line.
        language: `cpp`, `cuda`, `python` or `text`.
        label: what it is, for screen readers.

    Example:
        >>> shown = source("int x = 1;\\nint y = foo;", marks=[Mark(2, "'foo' was not declared", column=9, width=3)])
        >>> "li-bad" in shown and "&#x27;foo&#x27; was not declared" in shown
        True
    """
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        by_line.setdefault(mark.line, []).append(mark)
    rows = []
    for number, line in enumerate(lines_of(text, language), first_line):
        found = by_line.get(number, [])
        rows.append(_row(str(number), _pointed(line, found), found[0].kind if found else "", _POINTER if found else ""))
        for mark in found:
            if mark.message:
                rows.append(tag("span", mark.message, "\n", cls=f"li-message li-note li-{mark.kind}"))
    left = text.rstrip("\n").count("\n") + 1 - MOST_LINES
    if left > 0:
        rows.append(tag("span", f"... {left} more lines", cls="li-row li-faint"))
    return _block(rows, label)


def excerpt(text: str, *, kind: str = "bad", language: str = "cpp", label: str = "the lines in question") -> Html:
    """Show the lines that an error message quotes, `-> 14 | code` with a caret under it, as `source` does.

    Args:
        text: from `Diagnostic.excerpt` or `Crash.excerpt`.
        kind: of the mark.
        language: as for `source`.
        label: what it is, for screen readers.

    Example:
        >>> shown = excerpt("   1 | int x = 1;\\n-> 2 | int y = foo;\\n     |         ^~~")
        >>> shown.count("li-row"), "li-at" in shown
        (2, True)
    """
    lines: list[tuple[bool, str, str]] = []
    caret: tuple[int, int] = (0, 1)
    for row in text.split("\n"):
        head, bar, code = row.partition(" |")
        number, code = head.strip().removeprefix("->").strip(), code.removeprefix(" ")
        if bar and number.isdecimal():
            lines.append(("->" in head, number, code))
        elif lines and "^" in code and not number and not code.strip().strip("^~"):
            caret = (code.index("^") + 1, len(code.strip()))
    coloured = lines_of("\n".join(line for _, _, line in lines), language)
    rows = []
    for (marked, number, _), line in zip(lines, coloured, strict=False):
        marks = [Mark(int(number), kind=kind, column=caret[0], width=caret[1])] if marked else []
        rows.append(_row(number, _pointed(line, marks), kind if marked else "", _POINTER if marked else ""))
    return _block(rows, label)


def diff_source(text: str, *, language: str = "cpp", label: str = "what changed") -> Html:
    """Show a unified diff: lines that went and lines that came, with the numbers they have, and the names of the texts.

    Example:
        >>> shown = diff_source("--- a (cpp)\\n+++ b (cpp)\\n@@ -1 +1 @@\\n-x + 1;\\n+x + 2;")
        >>> shown.count("li-bad"), shown.count("li-good")
        (1, 1)
    """
    rows: list[Html] = []
    lines = text.split("\n")
    code = lines_of("\n".join(line[1:] for line in lines), language, every=True)
    before = after = end_before = end_after = 0
    for line, pieces in zip(lines, code, strict=False):
        coloured = _written(pieces)
        # A line that went may itself begin with two dashes: only the numbers say where the headings are.
        outside = before >= end_before and after >= end_after
        hunk = _HUNK.match(line) if outside else None
        if hunk:
            before, after = int(hunk[1]), int(hunk[3])
            end_before, end_after = before + int(hunk[2] or 1), after + int(hunk[4] or 1)
            rows.append(_row("", tag("span", line, cls="li-faint"), "plain"))
        elif outside:
            rows.append(tag("span", line, "\n", cls="li-row"))
        else:
            kind, word = {"-": ("bad", "removed: "), "+": ("good", "added: ")}.get(line[:1], ("", ""))
            number = before if kind == "bad" else after
            rows.append(_row(str(number), join([line[:1] or " ", " ", hidden(word) if word else "", coloured]), kind))
            before, after = before + (kind != "good"), after + (kind != "bad")
    return _block(rows, label)


def lines_of(text: str, language: str, *, every: bool = False) -> list[Line]:
    """Cut a text into lines of coloured pieces.

    Args:
        text: the source.
        language: `cpp`, `cuda`, `python` or `text`.
        every: also what stands behind `MOST_LINES`.
    """
    lines = text.rstrip("\n").replace("\r", "").replace("\t", " ").split("\n")
    text = "\n".join(lines if every else lines[:MOST_LINES])
    if language == "text":
        return [[("", line)] for line in text.split("\n")]
    from pygments.lexers import get_lexer_by_name
    from pygments.token import STANDARD_TYPES

    found: list[Line] = [[]]
    for token, value in get_lexer_by_name(language, stripnl=False, ensurenl=True).get_tokens(text):
        first, *others = value.split("\n")
        found[-1].append((STANDARD_TYPES.get(token, ""), first))
        found += [[(STANDARD_TYPES.get(token, ""), other)] for other in others]
    return found[:-1] or found  # a comment at the end is one only with a newline behind it


def coloured(text: str, language: str) -> list[Html]:
    """Return each line of a text in colours."""
    return [_written(line) for line in lines_of(text, language)]


def instructions(text: str) -> Html:
    """Return lines of machine code, with what each does, registers, numbers and comments in colours, and the rest plain.

    Example:
        >>> print(instructions("vaddps ymm0,ymm1"))
        <span class="nf">vaddps</span> <span class="nb">ymm0</span>,<span class="nb">ymm1</span>
    """
    told = ("nf", "nb", "mi", "mh", "c1")  # a page has thousands of lines
    lines = ([(name if name in told else "", piece) for name, piece in line] for line in lines_of(text, "nasm"))
    return Html("\n".join(map(_written, lines)))


def _written(line: Line) -> Html:
    return join(tag("span", text, cls=name) if name.strip("w") else text for name, text in line if text)


def _cut(line: Line, start: int, end: int) -> Line:
    """Return the pieces between two columns, from 0."""
    pieces, at = [], 0
    for name, text in line:
        pieces.append((name, text[max(start - at, 0) : max(end - at, 0)]))
        at += len(text)
    return pieces


def _pointed(line: Line, marks: Sequence[Mark]) -> Html:
    """Write a line, and underline what the first mark with a column points to."""
    length = sum(len(text) for _, text in line)
    for mark in marks:
        start, end = mark.column - 1, mark.column - 1 + max(mark.width, 1)
        if 0 <= start < length:
            pointed = tag("span", _written(_cut(line, start, end)), cls="li-at")
            return join([_written(_cut(line, 0, start)), pointed, _written(_cut(line, end, length))])
    return _written(line)


def _row(number: str, line: Html, kind: str = "", sign: str = "") -> Html:
    gutter = tag("span", sign, number, cls="li-no")
    # The newline is for pages without the style sheet; in a block of its own it adds no line.
    return tag("span", gutter, " ", line, "\n", cls=f"li-row{f' li-{kind}' if kind else ''}")


def _block(rows: Sequence[Html], label: str) -> Html:
    code = tag("code", *rows, cls="li-code li-source")
    return tag("pre", code, cls="li-scroll", role="group", aria_label=label, tabindex="0")
