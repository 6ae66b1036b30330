"""The IPython that runs in this process, if one does; it is not imported to find out."""

from __future__ import annotations

import sys
from typing import Any


def running_shell() -> Any:
    """Return the running IPython, or None.

    Example:
        >>> running_shell() is None
        True
    """
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


def in_notebook() -> bool:
    """Tell whether this process serves a notebook, in which an output can be drawn anew in its place.

    Example:
        >>> in_notebook()
        False
    """
    return getattr(running_shell(), "kernel", None) is not None
