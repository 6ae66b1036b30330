"""The LLTM cell of PyTorch's C++ extension tutorial: an LSTM without a forget gate, as a ladder of kernels.

`python` is the reference; `aten` moves it to C++; `fused` makes one pass of everything but the GEMMs; `stable` is that
pass on the headers that compile fastest. Each module says what it changes over the one before and what that gains.
"""

from __future__ import annotations

from ...registry import registry
from . import aten, fused, python, stable

OP = registry.register(python.OP)
KERNELS = tuple(registry.register(module.KERNEL) for module in (aten, fused, stable))
