"""The product of two matrices on a GPU: tiles in shared memory, so that each number is read once for many."""

from __future__ import annotations

from ...model.registry import registry
from . import cuda, python

OP = registry.register(python.OP)
KERNELS = (registry.register(cuda.KERNEL),)
