"""The ops that ship with the playground: each folder here is one. Importing this package registers them; nothing is compiled."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..model.registry import registry

#: The room of each op, with its OP and its KERNELS.
ROOMS = tuple(import_module(f".{room.name}", __name__) for room in iter_modules(__path__) if room.ispkg)
registry.mark_shipped()
