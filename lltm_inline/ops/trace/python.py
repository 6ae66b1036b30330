"""The trace of a matrix in plain PyTorch: what the page on accessors in PyTorch's C++ documentation sums.

    y = sum over i of x[i][i],   i < min(R, C)                      x (R, C), y a scalar
    d_x[i][j] = d_y if i = j, else 0                                d_x (R, C)

Forward reads min(R, C) numbers that are C + 1 apart, one in each cache line. Backward is different:
it writes R C numbers, and nearly all of them are zero. So the op takes about the time of clearing
d_x.

Source: https://docs.pytorch.org/cppdocs/notes/tensor_basics.html
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...model.registry import Cost, Op


def trace(x: Tensor) -> Tensor:
    """Sum the diagonal of a matrix.

    Args:
        x: (R, C); it need not be square.

    Returns:
        y, a scalar.

    Example:
        >>> trace(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).item()
        6.0
    """
    return torch.trace(x)


def cost(itemsize: int, R: int, C: int) -> Cost:
    """Count what a perfect kernel moves: the diagonal and y forward; d_y and the whole of d_x backward."""
    diagonal = min(R, C)
    return Cost(
        forward_bytes=itemsize * (diagonal + 1.0),
        forward_flops=1.0 * diagonal,
        backward_bytes=itemsize * (R * C + 1.0),
        backward_flops=0.0,
    )


OP = Op(
    "trace",
    "(Tensor x) -> Tensor y",
    reference=trace,
    shapes={"x": "R C", "y": ""},
    benchmark_sizes=((30, 33), (300, 330), (1_000, 1_100)),
    cost=cost,
    doc=__doc__ or "",
)
