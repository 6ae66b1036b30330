"""Mistakes that do not disturb each other: all of them are compiled as one text, so that each costs next to nothing.

The texts are `wrong/lines_of_*.cpp`: behind a line stands what the help for it must hold, which no compiler reads; nothing, where no
message is due. What stands before the first such line is the head.
"""

from __future__ import annotations

from tests.compiling.mistakes import PLACE


def _read(of: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the head, and each line with words that the help for it must hold."""
    rows = [line.partition("  // help:") for line in (PLACE / f"lines_of_{of}.cpp").read_text().splitlines()]
    head = "".join(f"{line}\n" for line, mark, _ in rows if not mark)
    return head, tuple((line, words.removeprefix(" ")) for line, mark, words in rows if mark)


HEAD, LINES = _read("numbers")
#: The same for tensors.
HEAD_OF_TENSORS, LINES_OF_TENSORS = _read("tensors")
