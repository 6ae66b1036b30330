"""Batch normalisation of images in plain PyTorch: the reference that every other kernel is checked against.

A batch holds B images of C channels, H by W each. Channel by channel, over all N = B H W values of it:

    mean_c = 1/N sum of x                                           (C)
    var_c  = 1/(N-1) sum of (x - mean_c)^2                          (C), unbiased
    y      = (x - mean_c) / (sqrt(var_c) + eps)                     (B, C, H, W)

This is the tutorial's formula, and in two places not that of `torch.nn.BatchNorm2d`: that one divides by N, and has eps
under the root; it also scales and shifts (affine), which is left out here. With eps outside, a channel of equal values
needs care to have a finite gradient: the derivative of the root at zero is infinite, and infinity times zero
is nan. `std` knows this, and takes the derivative as zero there; a kernel has to know it, too. Such channels are
not rare: a ReLU that never fires makes them.

One value per channel has no variance (0/0): that is an error. No values at all are not an error: y is as empty as x.

Source: https://docs.pytorch.org/tutorials/intermediate/custom_function_conv_bn_tutorial.html
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ...model.registry import Cost, Op


def batch_norm2d(x: Tensor, eps: float = 1e-3) -> Tensor:
    """Bring each channel to mean 0 and standard deviation 1.

    Args:
        x: (B, C, H, W).
        eps: added to the standard deviation.

    Returns:
        y, (B, C, H, W).

    Raises:
        ValueError: each channel has one value only.

    Example:
        >>> x = torch.tensor([1.0, 2.0, 3.0]).view(3, 1, 1, 1)
        >>> batch_norm2d(x, eps=0.0).flatten().tolist()
        [-1.0, 0.0, 1.0]
    """
    B, C, H, W = x.shape
    if B * H * W == 1:
        raise ValueError(
            "batch_norm2d: the variance of one value per channel is undefined: "
            f"x has shape {[B, C, H, W]}, want B*H*W > 1"
        )
    if x.numel() == 0:
        return x * 1.0
    axes = (0, 2, 3)
    std, mean = torch.std_mean(x, dim=axes, keepdim=True)
    return (x - mean) / (std + eps)


def inputs(randn: Callable[..., Tensor], B: int, C: int, H: int, W: int) -> tuple[Tensor, float]:
    """Draw images of which each channel has a mean and a width of its own; eps is not its default, so that it shows."""
    width = 1 + randn(1, C, 1, 1).abs()
    return randn(B, C, H, W) * width + randn(1, C, 1, 1), 0.01


def cost(itemsize: int, B: int, C: int, H: int, W: int) -> Cost:
    """Count what a perfect kernel moves, images in and images out, and the operations on each value."""
    elements = float(B * C * H * W)
    return Cost(
        forward_bytes=itemsize * 2 * elements,
        forward_flops=6 * elements,  # two sums, of x and of (x - mean)^2, and (x - mean) * scale
        backward_bytes=itemsize * 3 * elements,
        backward_flops=7 * elements,  # two sums, of g and of g y, and scale (g - a) - y b
    )


OP = Op(
    "batch_norm2d",
    "(Tensor x, float eps=1e-3) -> Tensor y",
    reference=batch_norm2d,
    shapes={"x": "B C H W", "y": "B C H W"},
    inputs=inputs,
    benchmark_sizes=((8, 16, 16, 16), (32, 64, 64, 64)),
    check_size=(3, 2, 5, 7),
    cost=cost,
    doc=__doc__ or "",
)
