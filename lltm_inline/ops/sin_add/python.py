"""sin(x) + sin(y) in plain PyTorch: the op of the smallest inline source there is, that of `load_inline`'s own page.

    z = sin(x) + sin(y)                                             any shape, the same for x, y and z

Source: https://docs.pytorch.org/docs/stable/cpp_extension.html, the example of `load_inline`
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...model.registry import Cost, Op


def sin_add(x: Tensor, y: Tensor) -> Tensor:
    """Add two sines.

    Args:
        x: any shape, in radians.
        y: the shape of x, in radians.

    Returns:
        z, of the same shape.

    Example:
        >>> sin_add(torch.zeros(2), torch.full((2,), torch.pi / 2)).tolist()
        [1.0, 1.0]
    """
    return torch.sin(x) + torch.sin(y)


def cost(itemsize: int, N: int) -> Cost:
    """Count what a perfect kernel moves: x, y and z forward; d_z, x, y, d_x and d_y backward. A sine counts as ten."""
    return Cost(
        forward_bytes=itemsize * 3.0 * N,
        forward_flops=21.0 * N,
        backward_bytes=itemsize * 5.0 * N,
        backward_flops=22.0 * N,
    )


OP = Op(
    "sin_add",
    "(Tensor x, Tensor y) -> Tensor z",
    reference=sin_add,
    shapes={"x": "...", "y": "...", "z": "..."},
    benchmark_sizes=((1_000,), (100_000,), (4_000_000,)),
    cost=cost,
    doc=__doc__ or "",
)
