"""The sum of each row in plain PyTorch: the first thing that threads must do together.

    y[b] = sum over n of x[b][n]                                    x (B, N), y (B)
    d_x[b][n] = d_y[b]

N numbers are read for one that is written, and one addition is made for each: the op waits for memory. Where each thread of a
GPU has its own number, no thread has the sum. So this is where a course comes to shared memory and barriers.

Source: M. Harris, Optimizing Parallel Reduction in CUDA, 2007.
"""

from __future__ import annotations

from torch import Tensor

from ...model.registry import Cost, Op


def block_sum(x: Tensor) -> Tensor:
    """Sum each row.

    Args:
        x: (B, N).

    Returns:
        y, (B).

    Example:
        >>> import torch
        >>> block_sum(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [3.0, 7.0]
    """
    return x.sum(1)


def cost(itemsize: int, B: int, N: int) -> Cost:
    """Count what a perfect kernel moves: x and y forward; d_y and d_x backward."""
    moved = itemsize * (B * N + 1.0 * B)
    return Cost(forward_bytes=moved, forward_flops=1.0 * B * N, backward_bytes=moved, backward_flops=0.0)


OP = Op(
    "block_sum",
    "(Tensor x) -> Tensor y",
    reference=block_sum,
    shapes={"x": "B N", "y": "B"},
    benchmark_sizes=((16, 1_000), (64, 10_000)),
    cost=cost,
    doc=__doc__ or "",
)
