"""Lines inside of a macro's arguments.

Compilers record one line for all that a macro is given: the body of an AT_DISPATCH has the line in which the macro stands.
What is known of the crash often leaves one line of that body that can have done it.
"""

from __future__ import annotations

import re

from ..diagnosis.source_text import mask
from .facts import Facts

_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]{3,}\s*\(")
#: What an instruction that failed looks like in the text, where no tensor tells.
_SIGNS = {
    "SIGFPE": r"[/%]",
    "SIGILL": r"__builtin_",
    "SIGABRT": r"\babort\s*\(|\bassert\s*\(|\bfree\s*\(|\bdelete\b|\bthrow\b",
}


def body_at(text: str, line: int) -> tuple[int, int] | None:
    """Find the macro call that begins in a line and goes on in others.

    Returns:
        Its first and last line, or None where there is none.

    Example:
        >>> body_at("f();\\nDISPATCH(x, [&] {\\n  g();\\n});", 2)
        (2, 4)
    """
    code = mask(text)
    lines = code.split("\n")
    if not 0 < line <= len(lines):
        return None
    start = sum(len(row) + 1 for row in lines[: line - 1])
    for match in _MACRO.finditer(code, start, start + len(lines[line - 1])):
        depth = 0
        for offset in range(match.end() - 1, len(code)):
            depth += (code[offset] == "(") - (code[offset] == ")")
            if not depth:
                last = line + code.count("\n", start, offset)
                if last > line:
                    return line, last
                break
    return None


def pointers_of(text: str, tensor: str) -> set[str]:
    """Name the variables that are made of a tensor, and of those in turn: a contiguous copy, a pointer, an accessor.

    Example:
        >>> sorted(pointers_of("auto x_row = x.contiguous(); const T* x_p = x_row.data_ptr<T>(); T s = y[0];", "x"))
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


def line_in_body(facts: Facts, first: int, last: int) -> int | None:
    """Return the one line between the first and the last that can have done it, or None where several can."""
    assert facts.place is not None
    text = facts.sources.get(facts.place.file, "")
    if facts.reach is not None:
        names = "|".join(map(re.escape, pointers_of(text, facts.reach.name)))
        sign = (
            rf"\b(?:{names})\s*\[|\*\s*(?:{names})\b(?!\s*=)|\b(?:loadu?|storeu?|memcpy|copy_n?)\b[^;]*\b(?:{names})\b"
        )
    elif facts.signal in _SIGNS:
        sign = _SIGNS[facts.signal]
    else:
        return None
    lines = mask(text).split("\n")
    found = [number for number in range(first, last + 1) if re.search(sign, lines[number - 1])]
    return found[0] if len(found) == 1 else None
