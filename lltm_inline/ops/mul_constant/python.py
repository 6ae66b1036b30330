"""A tensor times a number in plain PyTorch: `MulConstant` of PyTorch's notes on extending autograd.

    y = c x                                                         any shape; c a Python number
    d_x = c d_y                                                     c has no gradient

Source: https://docs.pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ...model.registry import Cost, Op


def mul_constant(x: Tensor, c: float) -> Tensor:
    """Multiply a tensor by a number.

    Args:
        x: any shape.
        c: a Python number.

    Returns:
        y, of the shape of x.

    Example:
        >>> import torch
        >>> mul_constant(torch.tensor([1.0, 2.0]), 0.5).tolist()
        [0.5, 1.0]
    """
    return x * c


def inputs(randn: Callable[..., Tensor], N: int) -> tuple[Tensor, float]:
    """Draw one set of inputs: x normal, and c too, so that a kernel which keeps or rounds it shows."""
    return randn(N), randn(1).item()


def cost(itemsize: int, N: int) -> Cost:
    """Count what a perfect kernel moves: one tensor in and one out, in each direction."""
    return Cost(
        forward_bytes=itemsize * 2.0 * N,
        forward_flops=1.0 * N,
        backward_bytes=itemsize * 2.0 * N,
        backward_flops=1.0 * N,
    )


OP = Op(
    "mul_constant",
    "(Tensor x, float c) -> Tensor y",
    reference=mul_constant,
    shapes={"x": "...", "y": "..."},
    inputs=inputs,
    benchmark_sizes=((1_000,), (100_000,), (4_000_000,)),
    cost=cost,
    doc=__doc__ or "",
)
