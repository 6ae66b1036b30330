"""What a value offers under its own name and a room above it does: to show itself in a notebook, to come back from the journal.

The room below says only what it wants done. `lltm_inline/__init__.py`, which knows all rooms, says where that is; the module is
imported when it is first asked for, so that nobody waits for what is never used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

_places: dict[str, str] = {}


def install(**places: str) -> None:
    """Say where each thing is done: `html_of="lltm_inline.show"` for the function of that name in that module."""
    _places.update(places)


def above(name: str) -> Callable[..., Any]:
    """Return the function of that name from the room that has it.

    Example:
        >>> from lltm_inline.doctor import Diagnosis
        >>> above("html_of")(Diagnosis(()))[:25]
        '<div class="lltm-inline">'
    """
    return getattr(importlib.import_module(_places[name]), name)


def printable(text: str) -> str:
    """Put a blank for whatever would begin a line of its own, or speak to a terminal: names come from students.

    Example:
        >>> printable("ann\\x1b[2J\\nbob")
        'ann [2J bob'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def aligned(lines: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.ljust) -> list[str]:
    """Put cells below each other in columns; a line of one cell is a heading, and as long as it likes.

    Example:
        >>> aligned([("", "time"), ("B=16 F=32, forward",), ("  axpy/cpp", "3 µs")])
        ['            time', 'B=16 F=32, forward', '  axpy/cpp  3 µs']
    """
    widths = [max(map(len, column)) for column in zip(*(line for line in lines if len(line) > 1), strict=True)]
    return ["  ".join(align(*cell) for cell in zip(line, widths, strict=False)).rstrip() for line in lines]


class Shown:
    """A value that a notebook shows as HTML: `lltm_inline.show.views` has a function for each class."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return above("html_of")(self)


class Sheet(Shown):
    """A value that shows itself as a sentence and a table, in a terminal as in a notebook."""

    __slots__ = ()

    @property
    def headline(self) -> str:
        """The sentence."""
        raise NotImplementedError

    def sheet(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """The names of the columns, and the cells of each row."""
        raise NotImplementedError

    def __str__(self) -> str:
        head, rows = self.sheet()
        lines = aligned([[" ".join(printable(cell).split()) for cell in row] for row in (head, *rows)])
        return "\n".join([self.headline, *(f"  {line}".rstrip() for line in lines if rows)])

    __repr__ = __str__
