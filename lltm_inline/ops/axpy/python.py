"""A x + y in plain PyTorch, with A = 2: the first op of every course on kernels.

    z = A x + y                                                     any shape, the same for x, y and z
    d_x = A d_z,   d_y = d_z

Each element of z takes one multiply-add, and three numbers go through memory for it. The op waits for memory, so
it is fastest when each number moves once. PyTorch moves five: `2 * x` is a call, whose result is written out, and `+ y`
another, which reads it again.

The name is that of the BLAS routine, "a x plus y". Source: `muladd` in
https://docs.pytorch.org/tutorials/advanced/cpp_custom_ops.html
"""

from __future__ import annotations

from torch import Tensor

from ...model.registry import Cost, Op


def axpy(x: Tensor, y: Tensor) -> Tensor:
    """Add y to twice x.

    Args:
        x: any shape.
        y: the shape of x.

    Returns:
        z, of the same shape.

    Example:
        >>> import torch
        >>> axpy(torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])).tolist()
        [12.0, 24.0]
    """
    return 2 * x + y


def cost(itemsize: int, N: int) -> Cost:
    """Count what a perfect kernel moves: x, y and z forward; d_z, d_x and d_y backward."""
    return Cost(
        forward_bytes=itemsize * 3.0 * N,
        forward_flops=2.0 * N,
        backward_bytes=itemsize * 3.0 * N,
        backward_flops=1.0 * N,
    )


OP = Op(
    "axpy",
    "(Tensor x, Tensor y) -> Tensor z",
    reference=axpy,
    shapes={"x": "...", "y": "...", "z": "..."},
    # The last one beyond the caches, and its tensors small enough that the allocator hands them out again.
    benchmark_sizes=((1_000,), (100_000,), (4_000_000,)),
    cost=cost,
    doc=__doc__ or "",
)
