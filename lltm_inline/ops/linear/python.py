"""Linear layer in plain PyTorch: the reference that every other kernel is checked against.

    y = x weight^T + bias                                           (N, O)

with N rows of I features x (N, I), weight (O, I), and bias (O) or None.

One call, so there is nothing to fuse: a kernel of this op is measured by what it adds to its GEMMs, one in forward and
two in backward. What the op teaches is the interface: an input that may be None, and gradients that nobody wants.

Source: https://docs.pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ...model.registry import Cost, Op


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Map each row of x through a matrix and, if there is one, add a bias.

    Args:
        x: (N, I).
        weight: (O, I).
        bias: (O), or None for no bias.

    Returns:
        y (N, O).

    Example:
        >>> N, I, O = 3, 17, 5
        >>> linear(torch.ones(N, I), torch.ones(O, I))[0].tolist()
        [17.0, 17.0, 17.0, 17.0, 17.0]
        >>> linear(torch.zeros(N, I), torch.ones(O, I), torch.arange(5.0))[0].tolist()
        [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    return torch.nn.functional.linear(x, weight, bias)


def inputs(randn: Callable[..., Tensor], N: int, I: int, O: int) -> tuple[Tensor, ...]:  # noqa: E741  (the letters of ops)
    """Draw one set of inputs; weight is as `torch.nn.Linear` makes it in size, so that y is of the size of x."""
    return randn(N, I), randn(O, I) / math.sqrt(max(I, 1)), randn(O)


def cost(itemsize: int, N: int, I: int, O: int) -> Cost:  # noqa: E741
    """Count what a perfect kernel moves and computes when the gradients of weight and bias are made."""
    gemm = 2.0 * N * I * O
    return Cost(
        forward_bytes=itemsize * float(N * I + O * I + O + N * O),
        forward_flops=gemm + N * O,
        backward_bytes=itemsize * float(N * O + N * I + O * I + O),
        backward_flops=gemm + N * O,
    )


OP = Op(
    "linear",
    "(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor y",
    reference=linear,
    shapes={"x": "N I", "weight": "O I", "bias": "O", "y": "N O"},
    inputs=inputs,
    benchmark_sizes=((16, 64, 64), (128, 256, 256), (256, 1024, 1024)),
    parameters=("weight", "bias"),
    cost=cost,
    doc=__doc__ or "",
)
