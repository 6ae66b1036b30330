"""sin(x) + sin(y): a source of one line, without its own derivative."""

from __future__ import annotations

from ...model.registry import registry
from . import aten, python

OP = registry.register(python.OP)
KERNELS = (registry.register(aten.KERNEL),)
