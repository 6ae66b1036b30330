"""Wrong kernels of the trace; `edits/trace.txt` has them, each with the reason for which a check must reject it."""

from __future__ import annotations

from torch import Tensor

from tests.planted.kernels import of_op


def _wraps_around(x: Tensor) -> Tensor:
    """Take every (C + 1)-th element of the rows one after the other: right as long as the matrix is not higher than wide."""
    return x.flatten()[:: x.shape[1] + 1].sum()


#: The planted kernels by name, and what makes a kernel of one.
PLANTED, kernel_of = of_op("trace", wraps_around=_wraps_around)
