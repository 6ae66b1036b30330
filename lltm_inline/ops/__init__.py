"""The ops that ship with the playground, one room each. Importing this package registers them; nothing is compiled."""

from __future__ import annotations

from . import lltm

__all__ = ["lltm"]
