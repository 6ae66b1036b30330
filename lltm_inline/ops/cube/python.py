"""x^3 and its derivative 3 x^2 in plain PyTorch: the op of PyTorch's tutorial on double backward.

    y  = x^3                                                        any shape
    dx = 3 x^2                                                      the intermediate, an output like y
    d_x = d_y dx + d_dx 6 x

A kernel computes dx in forward because backward needs it, and there double backward goes wrong: to autograd a saved
dx is a constant, and an output is not.

Source: https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html
"""

from __future__ import annotations

from torch import Tensor

from ...model.registry import Cost, Op


def cube(x: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the third power, and its derivative beside it.

    Args:
        x: any shape.

    Returns:
        y = x^3 and dx = 3 x^2, each of the shape of x.

    Example:
        >>> import torch
        >>> y, dx = cube(torch.tensor([2.0]))
        >>> y.item(), dx.item()
        (8.0, 12.0)
    """
    return x**3, 3 * x**2


def cost(itemsize: int, N: int) -> Cost:
    """Count what a perfect kernel moves: x, y and dx forward; d_y, d_dx, x, dx and d_x backward."""
    return Cost(
        forward_bytes=itemsize * 3.0 * N,
        forward_flops=3.0 * N,
        backward_bytes=itemsize * 5.0 * N,
        backward_flops=4.0 * N,
    )


OP = Op(
    "cube",
    "(Tensor x) -> (Tensor y, Tensor dx)",
    reference=cube,
    shapes={"x": "...", "y": "...", "dx": "..."},
    benchmark_sizes=((1_000,), (100_000,), (4_000_000,)),
    cost=cost,
    doc=__doc__ or "",
)
