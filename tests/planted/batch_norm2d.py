"""Wrong kernels of the batch normalisation; `edits/batch_norm2d.txt` has them, each with the reason for which a check must reject it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lltm_inline.ops.batch_norm2d.python import batch_norm2d as reference
from tests.planted.kernels import of_op

Step = Callable[..., Tensor]


AXES = (0, 2, 3)


def deviation(x: Tensor) -> Tensor:
    """Return s of each channel."""
    return x.std(AXES, keepdim=True)


def scale(s: Tensor, eps: float) -> Tensor:
    """Return r of each channel."""
    return 1 / (s + eps)


def gradient(g: Tensor, y: Tensor, s: Tensor, r: Tensor) -> Tensor:
    """Return d_x as on the page of `batch_norm2d/aten`."""
    slope = torch.where(s > 0, 1 / ((y.numel() // y.shape[1] - 1) * s), 0.0)
    return r * (g - g.mean(AXES, keepdim=True)) - y * slope * (g * y).sum(AXES, keepdim=True)


def hand(s_of: Step = deviation, r_of: Step = scale, d_x: Step = gradient) -> Callable[..., Any]:
    """Make a kernel from its three steps; right, unless one given here is wrong."""

    class Hand(torch.autograd.Function):
        """Forward and the derivative, as formulas."""

        @staticmethod
        def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
            s = s_of(x)
            r = r_of(s, eps)
            y = (x - x.mean(AXES, keepdim=True)) * r
            ctx.save_for_backward(y, s, r)
            return y

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, None]:
            return d_x(g, *ctx.saved_tensors) if ctx.needs_input_grad[0] else None, None

    def call(x: Tensor, eps: float = 1e-3) -> Tensor:
        """Refuse and leave out what the reference does, then call."""
        return Hand.apply(x, eps) if x.dim() == 4 and x.numel() > x.shape[1] else reference(x, eps)

    return call


#: The planted kernels by name, and what makes a kernel of one.
PLANTED, kernel_of = of_op(
    "batch_norm2d",
    biased_variance=hand(s_of=lambda x: x.std(AXES, keepdim=True, correction=0)),
    eps_under_the_root=hand(r_of=lambda s, eps: 1 / (s * s + eps).sqrt()),
    eps_of_its_own=hand(r_of=lambda s, eps: 1 / (s + 1e-3)),
    mean_taken_for_a_constant=hand(d_x=lambda g, y, s, r: gradient(g, y, s, r) + r * g.mean(AXES, keepdim=True)),
    deviation_taken_for_a_constant=hand(d_x=lambda g, y, s, r: r * (g - g.mean(AXES, keepdim=True))),
)
