"""What a value offers under its own name and a room above it does: to show itself in a notebook, to come back from the journal.

The room below says only what it wants done. `lltm_inline/__init__.py`, which knows all rooms, says where that is; the module is
imported when it is first asked for, so that nobody waits for what is never used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
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


class Shown:
    """A value that a notebook shows as HTML: `lltm_inline.show.views` has a function for each class."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return above("html_of")(self)
