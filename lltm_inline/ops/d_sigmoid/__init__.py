"""The derivative of the sigmoid: helper functions in a source, from ATen calls to vectors in registers."""

from __future__ import annotations

from ...model.registry import registry
from . import aten, cpp, python

OP = registry.register(python.OP)
KERNELS = tuple(registry.register(module.KERNEL) for module in (aten, cpp))
