"""The squared absolute value of complex numbers in plain PyTorch.

    x = re + i im,   y = |x|^2 = re^2 + im^2                        any shape; x complex, y real
    d_x = 2 d_y x                                                   complex; d_y real

A real function of a complex number has no complex derivative. PyTorch's gradient is the direction of steepest ascent,
dy/dre + i dy/dim = 2 re + 2 i im = 2 x: subtract it from x to make y smaller, just as for real numbers.

`x.real` and `x.imag` are views of every other number. Four calls read memory, and three of them write a tensor.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ...model.registry import Cost, Op


def complex_abs2(x: Tensor) -> Tensor:
    """Square the absolute value of each complex number.

    Args:
        x: any shape, complex.

    Returns:
        y, of the same shape, real.

    Example:
        >>> complex_abs2(torch.tensor([3 + 4j, -2j])).tolist()
        [25.0, 4.0]
    """
    return x.real.square() + x.imag.square()


def inputs(randn: Callable[..., Tensor], N: int) -> tuple[Tensor]:
    """Draw one set of inputs: real and imaginary parts normal."""
    return (torch.complex(randn(N), randn(N)),)


def cost(itemsize: int, N: int) -> Cost:
    """Count what a perfect kernel moves: x and y forward; d_y, x and d_x backward. `itemsize` is that of a real number."""
    return Cost(
        forward_bytes=itemsize * 3.0 * N,
        forward_flops=3.0 * N,
        backward_bytes=itemsize * 5.0 * N,
        backward_flops=3.0 * N,
    )


OP = Op(
    "complex_abs2",
    "(Tensor x) -> Tensor y",
    reference=complex_abs2,
    shapes={"x": "...", "y": "..."},
    inputs=inputs,
    dtypes=("complex64", "complex128"),
    benchmark_sizes=((1_000,), (100_000,), (4_000_000,)),
    cost=cost,
    doc=__doc__ or "",
)
