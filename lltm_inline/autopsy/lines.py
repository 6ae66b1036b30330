"""The line where it happened, where the compiler's is not that one.

An endless loop with nothing in it becomes a jump to itself, which has no line. And compilers record one line for all that a
macro is given: the body of an AT_DISPATCH has the line in which the macro stands. What is known of the crash often leaves one
line of that body that can have done it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..cpp.bodies import find_loops, macro_lines_at
from ..diagnosis.source_text import GENERATED, mask
from .facts import Facts
from .symbolize import Place

_NOTHING = re.compile(r"\s*(?:;|\{\s*\})")
#: What a head does by itself ends most loops.
_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)")
#: What an instruction that failed looks like in the text, where no tensor tells.
_SIGNS = {
    "SIGFPE": r"[/%]",
    "SIGILL": r"__builtin_",
    "SIGABRT": r"\babort\s*\(|\bassert\s*\(|\bfree\s*\(|\bdelete\b|\bthrow\b",
}


def in_empty_loop(facts: Facts) -> Facts:
    """Put the line of a loop that does nothing first, where the text has only one; the binding's lines are not its place."""
    if not facts.still:
        return facts
    texts = {file: text for file, text in facts.sources.items() if not file.endswith(GENERATED)}
    found = [Place(file, line, "") for file, text in texts.items() for line in _empty_loops(text)]
    own = tuple(place for place in facts.places if not place.file.endswith(GENERATED))
    return replace(facts, places=(*found, *own) if len(found) == 1 else own)


def in_macro(facts: Facts) -> tuple[Facts, str]:
    """Move a place from a macro's own line into its body, or say which lines the macro hides."""
    place = facts.place
    text = facts.sources.get(place.file, "") if place else ""
    if place is None or not (lines := macro_lines_at(text, place.line)):
        return facts, ""
    line = _line_in_body(facts, lines)
    if line is None:
        return facts, f"the macro there hides in which of the lines {lines[0]} to {lines[-1]}"
    rest = [other for other in facts.places if (other.file, other.line) != (place.file, place.line)]
    return replace(facts, places=(replace(place, line=line), *rest)), ""


def _empty_loops(text: str) -> list[int]:
    """List the lines in which a loop begins that has no body, and a head that changes nothing.

    Example:
        >>> _empty_loops("while (true) {\\n}\\nfor (; i < 9; ++i) {}\\ndo { f(); } while (g());\\nwhile (!done);")
        [1, 5]
    """
    code = mask(text)
    return [
        code.count("\n", 0, loop.start) + 1
        for loop in find_loops(text)
        if _NOTHING.fullmatch(code, loop.head[1], loop.end) and not _CHANGES.search(code, *loop.head)
    ]


def _pointers_of(text: str, tensor: str) -> set[str]:
    """Name the variables that are made of a tensor, and of those in turn: a contiguous copy, a pointer, an accessor.

    Example:
        >>> sorted(_pointers_of("auto x_row = x.contiguous(); const T* x_p = x_row.data_ptr<T>(); T s = y[0];", "x"))
        ['x', 'x_p', 'x_row']
    """
    names, made = {tensor}, re.findall(r"(\w+)\s*=\s*([^=;][^;]*?(?:contiguous|_ptr|accessor)[^;]*)", mask(text))
    for _ in made:
        known = rf"\b(?:{'|'.join(map(re.escape, names))})\b"
        # Several may be declared in one statement.
        parts = [part for name, right in made for part in _split(name, right)]
        more = {name for name, right in parts if re.search(known, right)} - names
        if not more:
            break
        names |= more
    return names


def _split(name: str, right: str) -> list[tuple[str, str]]:
    rest = re.split(r",\s*\*?\s*(\w+)\s*=(?!=)", right)
    return list(zip([name, *rest[1::2]], rest[::2], strict=True))


def _line_in_body(facts: Facts, body: range) -> int | None:
    """Return the one line of a macro's that can have done it, or None where several can."""
    assert facts.place is not None
    text = facts.sources.get(facts.place.file, "")
    if facts.reach is not None:
        names = "|".join(map(re.escape, _pointers_of(text, facts.reach.name)))
        sign = (
            rf"\b(?:{names})\s*\[|\*\s*(?:{names})\b(?!\s*=)|\b(?:loadu?|storeu?|memcpy|copy_n?)\b[^;]*\b(?:{names})\b"
        )
    elif facts.signal in _SIGNS:
        sign = _SIGNS[facts.signal]
    else:
        return None
    lines = mask(text).split("\n")
    found = [number for number in body if re.search(sign, lines[number - 1])]
    return found[0] if len(found) == 1 else None
