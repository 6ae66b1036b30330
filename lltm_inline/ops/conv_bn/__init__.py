"""A convolution with its batch normalisation: two layers as one, for the sake of memory.

`python` is the reference; `unfused` is two layers in C++, each of which keeps what it needs; `fused` keeps nothing
between the two, and computes it again.
"""

from __future__ import annotations

from ...model.registry import registry
from . import fused, python, unfused

OP = registry.register(python.OP)
KERNELS = tuple(registry.register(module.KERNEL) for module in (unfused, fused))
