"""The ops that ship with the playground: each folder here is one. Importing this package registers them; nothing is compiled.

A folder has the OP in `python.py`, and in `KERNELS` the names of its other modules, each with a KERNEL, in the order of a list.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..model.registry import Kernel, Op, registry

OPS, KERNELS = list[Op](), list[Kernel]()
for _room in (room.name for room in iter_modules(__path__, f"{__name__}.") if room.ispkg):
    OPS.append(registry.register(import_module(f"{_room}.python").OP))
    KERNELS += [registry.register(import_module(f"{_room}.{name}").KERNEL) for name in import_module(_room).KERNELS]
registry.mark_shipped()
