"""The sum of each row on a GPU: one block a row, shared memory, barriers, and the lanes of a warp together."""

from __future__ import annotations

from ...model.registry import registry
from . import cuda, python

OP = registry.register(python.OP)
KERNELS = (registry.register(cuda.KERNEL),)
