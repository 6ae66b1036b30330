"""Kernels that take a process down, hang it, fill it or lie in it: the rows of the table in docs/crashes.md.

Their texts are in `crash/`, a file for each group; what each says before itself is that of `Row`, several words each between two `.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lltm_inline.workers.limits import Limits
from tests.planted.crash_row import GOOD, Row, register
from tests.texts import Text, texts_in

__all__ = ["GOOD", "GROUPS", "ROWS", "Row", "register"]

_OF_WORDS = ("plain", "what", "cause", "headers")
_OF_PYTHON = {"calls": int, "limits": lambda text: eval(f"Limits({text})", {"Limits": Limits})}


def _row(text: Text) -> Row:
    said: dict[str, Any] = {key: text.words(key) if key in _OF_WORDS else value for key, value in text.said.items()}
    said |= {key: read(said[key]) for key, read in _OF_PYTHON.items() if key in said}
    return Row(text.name, text=text.body, **said)


#: The rows of the table, by what they have in common.
GROUPS = {
    title: tuple(map(_row, texts_in(Path(__file__).with_name("crash") / f"{file}.cpp", ["does", "plain", "what"])))
    for title, file in (
        ("It touches memory that is not its own", "memory"),
        ("It ends the process, or throws", "endings"),
        ("It never comes back", "hangs"),
        ("It takes more than it may", "appetites"),
        ("Somebody outside ends or stops it", "signals"),
        ("It computes, but does not do what it should", "lies"),
        ("It crashes at one place only", "places"),
    )
}
#: The rows by name.
ROWS = {row.name: row for group in GROUPS.values() for row in group}
