"""Source texts: colours, line numbers, the lines that an error quotes, and differences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .parts import Html, hidden, join, tag

#: Of a longer text only the first lines are coloured and shown: a page of 100 000 lines helps nobody.
MOST_LINES = 5000

#: A line: the Pygments class of each piece, and its text.
Line = list[tuple[str, str]]

_POINTER = "▶ "
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def source(text: str, *, first_line: int = 1, language: str = "cpp", label: str = "source") -> Html:
    """Show a text with line numbers and colours.

    Args:
        text: the source.
        first_line: number of the first line.
        language: `cpp`, `cuda`, `python` or `text`.
        label: what it is, for screen readers.

    Example:
        >>> source("int x = 1;\\nint y = 2;").count("li-row")
        2
    """
    rows = [_row(str(number), _written(line)) for number, line in enumerate(lines_of(text, language), first_line)]
    left = text.rstrip("\n").count("\n") + 1 - MOST_LINES
    if left > 0:
        rows.append(tag("span", f"... {left} more lines", cls="li-row li-faint"))
    return _block(rows, label)


def excerpt(text: str, *, kind: str = "bad", label: str = "the lines in question") -> Html:
    """Show the lines that an error message quotes, `-> 14 | code` with a caret under it, as `source` does.

    Args:
        text: from `Diagnostic.excerpt` or `Crash.excerpt`.
        kind: of the mark: `bad` or `plain`.
        label: what it is, for screen readers.

    Example:
        >>> shown = excerpt("   1 | int x = 1;\\n-> 2 | int y = foo;\\n     |         ^~~")
        >>> shown.count("li-row"), "li-at" in shown
        (2, True)
    """
    lines: list[tuple[bool, str, str]] = []
    start = end = -1
    for row in text.split("\n"):
        head, bar, code = row.partition(" |")
        number, code = head.strip().removeprefix("->").strip(), code.removeprefix(" ")
        if bar and number.isdecimal():
            lines.append(("->" in head, number, code))
        elif lines and "^" in code and not number and not code.strip().strip("^~"):
            start, end = code.index("^"), len(code.rstrip())
    coloured = lines_of("\n".join(line for _, _, line in lines), "cpp")
    rows = []
    for (marked, number, _), line in zip(lines, coloured, strict=False):
        rows.append(
            _row(number, _pointed(line, start, end), kind, _POINTER) if marked else _row(number, _written(line))
        )
    return _block(rows, label)


def diff_source(text: str, *, label: str = "what changed") -> Html:
    """Show a unified diff: lines that went and lines that came, with the numbers they have, and the names of the texts.

    Example:
        >>> shown = diff_source("--- a (cpp)\\n+++ b (cpp)\\n@@ -1 +1 @@\\n-x + 1;\\n+x + 2;")
        >>> shown.count("li-bad"), shown.count("li-good")
        (1, 1)
    """
    rows: list[Html] = []
    lines = text.split("\n")
    code = lines_of("\n".join(line[1:] for line in lines), "cpp", every=True)
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


def _cut(line: Line, start: int, end: int | None = None) -> Line:
    """Return the pieces between two columns, from 0."""
    pieces, at = [], 0
    for name, text in line:
        pieces.append((name, text[max(start - at, 0) : None if end is None else max(end - at, 0)]))
        at += len(text)
    return pieces


def _pointed(line: Line, start: int, end: int) -> Html:
    """Write a line, and underline what stands between two columns, from 0; nothing where these are not in it."""
    if not 0 <= start < sum(len(text) for _, text in line):
        return _written(line)
    pointed = tag("span", _written(_cut(line, start, end)), cls="li-at")
    return join([_written(_cut(line, 0, start)), pointed, _written(_cut(line, end))])


def _row(number: str, line: Html, kind: str = "", sign: str = "") -> Html:
    gutter = tag("span", sign, number, cls="li-no")
    # The newline is for pages without the style sheet; in a block of its own it adds no line.
    return tag("span", gutter, " ", line, "\n", cls=f"li-row{f' li-{kind}' if kind else ''}")


def _block(rows: Sequence[Html], label: str) -> Html:
    code = tag("code", *rows, cls="li-code li-source")
    return tag("pre", code, cls="li-scroll", role="group", aria_label=label, tabindex="0")
