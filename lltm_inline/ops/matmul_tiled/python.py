"""The product of two matrices in plain PyTorch: where a number that is read once can be used many times.

    c = a b                                                         a (M, K), b (K, N), c (M, N)
    d_a = d_c b^T,   d_b = a^T d_c

M N K multiplications are made with M K + K N numbers: each is used N or M times. Whoever reads it anew each time waits for memory;
whoever keeps it near computes. That is the difference between a plain kernel and a tiled one.
"""

from __future__ import annotations

from torch import Tensor

from ...model.registry import Cost, Op


def matmul_tiled(a: Tensor, b: Tensor) -> Tensor:
    """Multiply two matrices.

    Args:
        a: (M, K).
        b: (K, N).

    Returns:
        c, (M, N).

    Example:
        >>> import torch
        >>> matmul_tiled(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])).tolist()
        [[11.0]]
    """
    return a @ b


def cost(itemsize: int, M: int, K: int, N: int) -> Cost:
    """Count what a perfect kernel moves: a, b and c forward; d_c, a, b, d_a and d_b backward."""
    return Cost(
        forward_bytes=itemsize * (1.0 * M * K + K * N + M * N),
        forward_flops=2.0 * M * K * N,
        backward_bytes=itemsize * (2.0 * M * K + 2 * K * N + M * N),
        backward_flops=4.0 * M * K * N,
    )


OP = Op(
    "matmul_tiled",
    "(Tensor a, Tensor b) -> Tensor c",
    reference=matmul_tiled,
    shapes={"a": "M K", "b": "K N", "c": "M N"},
    benchmark_sizes=((64, 64, 64), (256, 256, 256)),
    cost=cost,
    doc=__doc__ or "",
)
