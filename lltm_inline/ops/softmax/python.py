"""The softmax of each row in plain PyTorch: what turns scores into shares of one.

    y[b][n]   = exp(x[b][n] - m) / s,   m = max over n of x[b][n],   s = sum over n of exp(x[b][n] - m)     x, y (B, N)
    d_x[b][n] = y[b][n] (d_y[b][n] - sum over k of d_y[b][k] y[b][k])

Taking the maximum away changes nothing, as it is in numerator and denominator, and without it exp overflows from 89 on in
float32. Each number needs the maximum of its row and then the sum, so a row is read three times; a row that fits into the cache
goes through memory once.
"""

from __future__ import annotations

from torch import Tensor

from ...model.registry import Cost, Op


def softmax(x: Tensor) -> Tensor:
    """Turn the numbers of each row into positive ones with the sum 1.

    Args:
        x: (B, N).

    Returns:
        y, (B, N).

    Example:
        >>> import torch
        >>> softmax(torch.tensor([[0.0, 0.0], [1000.0, 0.0]])).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
    """
    return x.softmax(1)


def cost(itemsize: int, B: int, N: int) -> Cost:
    """Count what a perfect kernel moves: x and y forward; d_y, y and d_x backward."""
    return Cost(
        forward_bytes=itemsize * 2.0 * B * N,
        forward_flops=5.0 * B * N,
        backward_bytes=itemsize * 3.0 * B * N,
        backward_flops=4.0 * B * N,
    )


OP = Op(
    "softmax",
    "(Tensor x) -> Tensor y",
    reference=softmax,
    shapes={"x": "B N", "y": "B N"},
    benchmark_sizes=((16, 1_000), (256, 4_000)),
    cost=cost,
    doc=__doc__ or "",
)
