"""Convolution of images in plain PyTorch: the reference that every other kernel is checked against.

B images of C channels, H by W each, and O filters of C channels, K by L each. A filter is put at every place of an
image where all of it fits (stride 1, no padding); the products there are summed, without a bias:

    y[b, o, h, w] = sum over c, k, l of x[b, c, h + k, w + l] w[o, c, k, l]             (B, O, H-K+1, W-L+1)

What mathematicians call a convolution runs through the filter backwards, w[o, c, K-1-k, L-1-l]; this is their
cross-correlation. In forward only the name differs. In backward it matters: one of the two convolutions there runs
through the filter in the other direction, and forgetting that is the classic mistake.

Each image is read K L times, so there are B O C H W K L multiply-adds and far fewer numbers to move: a
convolution is not bound by memory, as most ops are; it is a matrix product in disguise.

Source: https://docs.pytorch.org/tutorials/intermediate/custom_function_conv_bn_tutorial.html
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...model.registry import Cost, Op


def conv2d(x: Tensor, w: Tensor) -> Tensor:
    """Lay every filter over every place of every image.

    Args:
        x: images, (B, C, H, W).
        w: filters, (O, C, K, L), not larger than the images.

    Returns:
        y, (B, O, H-K+1, W-L+1).

    Raises:
        RuntimeError: the filters are larger than the images, or have no elements.

    Example:
        >>> image = torch.arange(9.0).view(1, 1, 3, 3)
        >>> conv2d(image, torch.ones(1, 1, 2, 2)).flatten().tolist()  # sums of four neighbours
        [8.0, 12.0, 20.0, 24.0]
    """
    # Of filters without channels torch makes an output without channels, in place of one of O channels of zeros.
    if w.numel() == 0:
        raise RuntimeError(f"conv2d: w has shape {list(w.shape)}, want filters with at least one element")
    if w.shape[2] > x.shape[2] or w.shape[3] > x.shape[3]:
        raise RuntimeError(
            f"conv2d: the filters of w, {list(w.shape[2:])}, are larger than the images of x, {list(x.shape[2:])}"
        )
    return torch.nn.functional.conv2d(x, w)


def cost(itemsize: int, B: int, C: int, H: int, W: int, O: int, K: int, L: int) -> Cost:  # noqa: E741
    """Count each tensor once, and a multiply-add as two; each gradient is a convolution as large as the forward one."""
    x, w, y = B * C * H * W, O * C * K * L, B * O * (H - K + 1) * (W - L + 1)
    flops = 2.0 * y * C * K * L
    return Cost(
        forward_bytes=itemsize * float(x + w + y),
        forward_flops=flops,
        backward_bytes=itemsize * float(2 * x + 2 * w + y),
        backward_flops=2 * flops,
    )


OP = Op(
    "conv2d",
    "(Tensor x, Tensor w) -> Tensor y",
    reference=conv2d,
    shapes={"x": "B C H W", "w": "O C K L", "y": "B O H-K+1 W-L+1"},
    benchmark_sizes=((8, 1, 28, 28, 8, 5, 5), (16, 32, 32, 32, 32, 3, 3)),
    check_size=(2, 3, 5, 7, 4, 2, 3),
    cost=cost,
    doc=__doc__ or "",
)
