"""c x: an argument that is no tensor, and gradients that are not there."""

from __future__ import annotations

from ...model.registry import registry
from . import aten, python

OP = registry.register(python.OP)
KERNELS = (registry.register(aten.KERNEL),)
