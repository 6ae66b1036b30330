"""Wrong kernels of the convolution, each with the reason for which a check must reject it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from lltm_inline.model.registry import Kernel
from lltm_inline.ops.conv2d.python import conv2d as reference
from tests.planted.kernels import Planted

Step = Callable[[Tensor, Tensor, Tensor], Tensor]


def gradient_of_images(g: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """Convolve g, in a border of zeros, with the flipped filters."""
    K, L = w.shape[2:]
    return conv2d(pad(g, (L - 1, L - 1, K - 1, K - 1)), w.flip(2, 3).transpose(0, 1))


def gradient_of_filters(g: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """Convolve the images with g as the filter, and the batch in place of the channels."""
    return conv2d(x.transpose(0, 1), g.transpose(0, 1)).transpose(0, 1)


def hand(
    forward: Callable[[Tensor, Tensor], Tensor] = reference,
    d_x: Step = gradient_of_images,
    d_w: Step = gradient_of_filters,
) -> Callable[..., Any]:
    """Make a kernel with the tutorial's backward of two convolutions; right, unless a step given here is wrong."""
    calculate = forward

    class Hand(torch.autograd.Function):
        """Forward, and two convolutions backward."""

        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
            ctx.save_for_backward(x, w)
            return calculate(x, w)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
            x, w = ctx.saved_tensors
            if not g.numel():
                return torch.zeros_like(x), torch.zeros_like(w)
            want_x, want_w = ctx.needs_input_grad
            return d_x(g, x, w) if want_x else None, d_w(g, x, w) if want_w else None

    return lambda x, w: Hand.apply(x, w)


def _python(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], **steps: Any) -> Planted:
    return Planted(name, why, section, quantity, says, python=hand(**steps))


def _aten(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "conv2d/aten", edits)


_ALL = (
    _python(
        "unflipped_filters",
        "d_x runs through the filters in the same direction as forward",
        "parity",
        "d_x",
        ("d_x (2, 3, 5, 7) float64 differs in", "smallest failing size: B=1, C=1, H=1, W=2, O=1, K=1, L=2"),
        d_x=lambda g, x, w: gradient_of_images(g, x, w.flip(2, 3)),
    ),
    _python(
        "flipped_forward",
        "forward is the convolution of the mathematicians, through the filters backwards",
        "parity",
        "y",
        ("y (2, 4, 4, 5) float64 differs in", "smallest failing size: B=1, C=1, H=1, W=2, O=1, K=1, L=2"),
        forward=lambda x, w: reference(x, w.flip(2, 3)),
        d_x=lambda g, x, w: gradient_of_images(g, x, w.flip(2, 3)),
        d_w=lambda g, x, w: gradient_of_filters(g, x, w).flip(2, 3),
    ),
    _python(
        "mean_over_the_batch",
        "d_w is the mean over the images, where it is the sum",
        "parity",
        "d_w",
        ("0.5 times want throughout",),
        d_w=lambda g, x, w: gradient_of_filters(g, x, w) / x.shape[0],
    ),
    _python(
        "first_image_only",
        "d_w looks at one image",
        "parity",
        "d_w",
        ("smallest failing size: B=2,",),
        d_w=lambda g, x, w: gradient_of_filters(g[:1], x[:1], w),
    ),
    _python(
        "filters_and_channels_swapped",
        "the last step of d_w, which brings filters and channels back into order, is left out",
        "interface",
        "d_w",
        ("d_w has shape (3, 4, 2, 3), want (4, 3, 2, 3)",),
        d_w=lambda g, x, w: gradient_of_filters(g, x, w).transpose(0, 1),
    ),
    _python(
        "border_of_the_wrong_width",
        "the border around g is K-1 columns wide and L-1 rows high: right for square filters",
        "interface",
        "d_x",
        ("d_x has shape (2, 3, 7, 5), want (2, 3, 5, 7)",),
        d_x=lambda g, x, w: conv2d(
            pad(g, (w.shape[2] - 1, w.shape[2] - 1, w.shape[3] - 1, w.shape[3] - 1)), w.flip(2, 3).transpose(0, 1)
        ),
    ),
    _aten(
        "swapped_mask",
        "the flag of x is taken for that of w, the old needs_input_grad mistake",
        "parity",
        "d_w",
        ("d_w is missing", "wrong when only d_w: look at how `wanted` is used"),
        (
            "convolution_backward(d_y, x, w, wanted[0], wanted[1])",
            "convolution_backward(d_y, x, w, wanted[1], wanted[0])",
        ),
    ),
    _aten(
        "answers_without_channels",
        "of images without channels torch makes an output without channels, where O channels are due",
        "interface",
        "forward",
        ("forward computes at a size where an error is due", "C=0"),
        (
            'TORCH_CHECK(w.numel() > 0, "conv2d: w has shape ", w.sizes(), ", want filters with at least one element");',
            "",
        ),
        ("if (x.size(0) && x.size(0) * places", "if (x.numel() && x.size(0) * places"),
    ),
    _aten(
        "stale_filters",
        "the filters of the first call are kept, since reordering them costs time",
        "gradcheck",
        "d_w",
        ("d_w is not the derivative of y",),
        (
            "const at::Tensor images = x.contiguous(), filters = w.contiguous();  // or",
            "static at::Tensor kept;\n"
            "  if (!kept.defined() || kept.sizes() != w.sizes() || kept.dtype() != w.dtype()) kept = w.clone();\n"
            "  const at::Tensor images = x.contiguous(), filters = kept;  // or",
        ),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"conv2d/{planted.name}")
