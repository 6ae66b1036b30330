"""A convolution and the batch normalisation of what it gives, in plain PyTorch: the reference of this room.

    z = conv2d(x, w)                    (B, O, H-K+1, W-L+1); stride 1, no padding, no bias: a bias would be taken off
    y = batch_norm2d(z, eps)            (B, O, H-K+1, W-L+1); (z - mean) / (sqrt(var) + eps), channel by channel

with images x (B, C, H, W) and filters w (O, C, K, L). Both ops have a room of their own, `conv2d` and `batch_norm2d`,
where their formulas and derivatives are.

What this op teaches is memory. Backward of a convolution wants its input, backward of a normalisation what it was given
or what it gave. Layer upon layer, a network keeps two images per layer from forward to backward: y, which is the
next layer's x, and z, which nobody sees. In deep networks for large images that, and not time, is what runs out first.

Source: https://docs.pytorch.org/tutorials/intermediate/custom_function_conv_bn_tutorial.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from ...model.registry import Cost, Op
from ..batch_norm2d.python import batch_norm2d
from ..batch_norm2d.python import cost as cost_of_norm
from ..conv2d.python import conv2d
from ..conv2d.python import cost as cost_of_conv


def conv_bn(x: Tensor, w: Tensor, eps: float = 1e-3) -> Tensor:
    """Convolve images, and bring each channel of the result to mean 0 and standard deviation 1.

    Args:
        x: images, (B, C, H, W).
        w: filters, (O, C, K, L), not larger than the images.
        eps: added to the standard deviation.

    Returns:
        y, (B, O, H-K+1, W-L+1).

    Raises:
        RuntimeError: the filters are larger than the images, or have no elements.
        ValueError: the convolution leaves one value per channel.

    Example:
        >>> import torch
        >>> image = torch.tensor([1.0, 2.0, 4.0]).view(1, 1, 1, 3)
        >>> conv_bn(image, torch.full((1, 1, 1, 1), 7.0), eps=0.0).sum().abs().item() < 1e-6  # mean 0, whatever w is
        True
    """
    return batch_norm2d(conv2d(x, w), eps)


def inputs(
    randn: Callable[..., Tensor],
    B: int,
    C: int,
    H: int,
    W: int,
    O: int,  # noqa: E741
    K: int,
    L: int,
) -> tuple[Tensor, Tensor, float]:
    """Draw images and filters; eps is not its default, so that it shows."""
    return randn(B, C, H, W), randn(O, C, K, L), 0.01


def cost(itemsize: int, B: int, C: int, H: int, W: int, O: int, K: int, L: int) -> Cost:  # noqa: E741
    """Count what a perfect kernel moves, each tensor once and z never; the operations of both halves."""
    conv = cost_of_conv(itemsize, B, C, H, W, O, K, L)
    norm = cost_of_norm(itemsize, B, O, H - K + 1, W - L + 1)
    return replace(
        conv,
        forward_flops=conv.forward_flops + norm.forward_flops,
        backward_flops=conv.backward_flops + norm.backward_flops,
    )


OP = Op(
    "conv_bn",
    "(Tensor x, Tensor w, float eps=1e-3) -> Tensor y",
    reference=conv_bn,
    shapes={"x": "B C H W", "w": "O C K L", "y": "B O H-K+1 W-L+1"},
    inputs=inputs,
    benchmark_sizes=((8, 1, 28, 28, 8, 5, 5), (16, 32, 32, 32, 32, 3, 3)),
    check_size=(2, 3, 5, 7, 4, 2, 3),
    cost=cost,
    doc=__doc__ or "",
)
