"""Wrong kernels of the convolution; `edits/conv2d.txt` has them, each with the reason for which a check must reject it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from lltm_inline.ops.conv2d.python import conv2d as reference
from tests.planted.kernels import of_op

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


#: The planted kernels by name, and what makes a kernel of one.
PLANTED, kernel_of = of_op(
    "conv2d",
    unflipped_filters=hand(d_x=lambda g, x, w: gradient_of_images(g, x, w.flip(2, 3))),
    flipped_forward=hand(
        forward=lambda x, w: reference(x, w.flip(2, 3)),
        d_x=lambda g, x, w: gradient_of_images(g, x, w.flip(2, 3)),
        d_w=lambda g, x, w: gradient_of_filters(g, x, w).flip(2, 3),
    ),
    mean_over_the_batch=hand(d_w=lambda g, x, w: gradient_of_filters(g, x, w) / x.shape[0]),
    first_image_only=hand(d_w=lambda g, x, w: gradient_of_filters(g[:1], x[:1], w)),
    filters_and_channels_swapped=hand(d_w=lambda g, x, w: gradient_of_filters(g, x, w).transpose(0, 1)),
    border_of_the_wrong_width=hand(
        d_x=lambda g, x, w: conv2d(
            pad(g, (w.shape[2] - 1, w.shape[2] - 1, w.shape[3] - 1, w.shape[3] - 1)), w.flip(2, 3).transpose(0, 1)
        )
    ),
)
