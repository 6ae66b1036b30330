"""The trace of a matrix: accessors, which check dtype and rank once and then index by strides."""

from __future__ import annotations

from ...model.registry import registry
from . import accessor, python

OP = registry.register(python.OP)
KERNELS = (registry.register(accessor.KERNEL),)
