"""Lines of loops for which a compiler keeps none: an endless one with nothing in it becomes a jump to itself."""

from __future__ import annotations

import re

from ..diagnosis.source_text import mask

_HEAD = re.compile(r"\b(?:while|for)\s*\(")
_NOTHING = re.compile(r"\s*(?:;|\{\s*\})")
#: What a head does by itself ends most loops.
_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)")


def empty_loops(text: str) -> list[int]:
    """List the lines in which a loop begins that has no body, and a head that changes nothing.

    Example:
        >>> empty_loops("while (true) {\\n}\\nfor (; i < 9; ++i) {}\\ndo { f(); } while (g());\\nwhile (!done);")
        [1, 5]
    """
    code, found = mask(text), []
    for head in _HEAD.finditer(code):
        end = _closing(code, head.end())
        of_do = head.group().startswith("while") and code[: head.start()].rstrip().endswith("}")
        body = _NOTHING.match(code, end)
        if body and not (of_do and body.group().endswith(";")) and not _CHANGES.search(code, head.end(), end):
            found.append(code.count("\n", 0, head.start()) + 1)
    return found


def _closing(code: str, start: int) -> int:
    """Return where the parenthesis that was opened before `start` is closed, or the end of the code."""
    depth = 1
    for place in range(start, len(code)):
        depth += (code[place] == "(") - (code[place] == ")")
        if not depth:
            return place + 1
    return len(code)
