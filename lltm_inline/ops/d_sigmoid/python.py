"""The derivative of the sigmoid in plain PyTorch, the helper function of PyTorch's C++ extension tutorial.

    s = sigmoid(z) = 1 / (1 + e^-z)
    y = (1 - s) s                                                   any shape; between 0 and 1/4, the same for z and -z

Its own derivative, which autograd takes from the reference, is d_z = d_y (1 - s) s (1 - 2 s).

Source: https://docs.pytorch.org/tutorials/advanced/cpp_extension.html
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ...model.registry import Cost, Op


def d_sigmoid(z: Tensor) -> Tensor:
    """Compute the derivative of the sigmoid at z.

    Args:
        z: any shape.

    Returns:
        y, of the same shape.

    Example:
        >>> d_sigmoid(torch.tensor([0.0, 1000.0])).tolist()
        [0.25, 0.0]
    """
    s = torch.sigmoid(z)
    return (1 - s) * s


def inputs(randn: Callable[..., Tensor], N: int) -> tuple[Tensor]:
    """Draw one set of inputs: cubes of normal numbers, most of them near zero and a few so far out that exp saturates."""
    return (randn(N) ** 3,)


def cost(itemsize: int, N: int) -> Cost:
    """Count what a perfect kernel moves: z and y forward; d_y, z and d_z backward. The exponential counts as ten."""
    return Cost(
        forward_bytes=itemsize * 2.0 * N,
        forward_flops=14.0 * N,
        backward_bytes=itemsize * 3.0 * N,
        backward_flops=17.0 * N,
    )


OP = Op(
    "d_sigmoid",
    "(Tensor z) -> Tensor y",
    reference=d_sigmoid,
    shapes={"z": "...", "y": "..."},
    inputs=inputs,
    benchmark_sizes=((1_000,), (100_000,), (4_000_000,)),
    cost=cost,
    doc=__doc__ or "",
)
