"""The softmax of each row on a GPU: a maximum and a sum that all threads of a block need."""

from __future__ import annotations

from ...model.registry import registry
from . import cuda, python

OP = registry.register(python.OP)
KERNELS = (registry.register(cuda.KERNEL),)
