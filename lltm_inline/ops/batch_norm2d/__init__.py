"""Batch normalisation of images without scale and shift, with eps outside of the root, as the tutorial has it.

`python` is the reference; `aten` has a derivative worked out by hand, and reads each value as seldom as can be.
"""

from __future__ import annotations

from ...model.registry import registry
from . import aten, python

OP = registry.register(python.OP)
KERNELS = (registry.register(aten.KERNEL),)
