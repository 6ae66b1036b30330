"""|x|^2 of complex numbers, read as the interleaved reals that they are."""

from __future__ import annotations

from ...model.registry import registry
from . import pointer, python

OP = registry.register(python.OP)
KERNELS = (registry.register(pointer.KERNEL),)
