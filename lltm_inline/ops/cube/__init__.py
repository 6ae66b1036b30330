"""x^3 with its derivative: a backward that may be differentiated again."""

from __future__ import annotations

from ...model.registry import registry
from . import aten, python

OP = registry.register(python.OP)
KERNELS = (registry.register(aten.KERNEL),)
