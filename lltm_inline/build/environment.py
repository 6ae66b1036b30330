"""Environment variables that are overridden while `load_inline` runs, and what the user has set them to meanwhile."""

from __future__ import annotations

import os

# name -> (what we set, what the user had)
_overridden: dict[str, tuple[str, str | None]] = {}


def users(name: str) -> str | None:
    """Return a variable as the user has it, also while it is overridden."""
    value = os.environ.get(name)
    ours = _overridden.get(name)
    return ours[1] if ours is not None and value == ours[0] else value


def override(**variables: str) -> None:
    """Set variables until `restore`."""
    for name, value in variables.items():
        _overridden[name] = (value, os.environ.get(name))
        os.environ[name] = value


def restore() -> None:
    """Put back what `override` changed, but for what the user has set since."""
    for name, (ours, before) in _overridden.items():
        if os.environ.get(name) != ours:
            continue
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
    _overridden.clear()
