"""Wrong kernels of the batch normalisation, each with the reason for which a check must reject it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from lltm_inline.model.registry import Kernel
from lltm_inline.ops.batch_norm2d.python import batch_norm2d as reference
from tests.planted.kernels import Planted

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


def _python(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], **steps: Step) -> Planted:
    return Planted(name, why, section, quantity, says, python=hand(**steps))


def _aten(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "batch_norm2d/aten", edits)


_ALL = (
    _python(
        "biased_variance",
        "the squares are divided by N, as torch.nn.BatchNorm2d does, and not by N-1",
        "parity",
        "y",
        ("got is 1.005 times want throughout",),
        s_of=lambda x: x.std(AXES, keepdim=True, correction=0),
    ),
    _python(
        "eps_under_the_root",
        "eps is added to the variance, as torch.nn.BatchNorm2d does, and not to its root",
        "parity",
        "y",
        ("y (3, 2, 5, 7) float64 differs in all 210 elements",),
        r_of=lambda s, eps: 1 / (s * s + eps).sqrt(),
    ),
    _python(
        "eps_of_its_own",
        "eps is always its default",
        "parity",
        "y",
        ("y (3, 2, 5, 7) float64 differs in all 210 elements",),
        r_of=lambda s, eps: 1 / (s + 1e-3),
    ),
    _python(
        "mean_taken_for_a_constant",
        "backward forgets that the mean moves with x",
        "parity",
        "d_x",
        ("d_x (3, 2, 5, 7) float64 differs in all 210 elements",),
        d_x=lambda g, y, s, r: gradient(g, y, s, r) + r * g.mean(AXES, keepdim=True),
    ),
    _python(
        "deviation_taken_for_a_constant",
        "backward forgets that the standard deviation moves with x",
        "parity",
        "d_x",
        ("d_x (3, 2, 5, 7) float64 differs in all 210 elements",),
        d_x=lambda g, y, s, r: r * (g - g.mean(AXES, keepdim=True)),
    ),
    _aten(
        "drops_the_tail",
        "what is left of a plane after whole vectors is never written",
        "parity",
        "y",
        ("never written",),
        ("if (const int64_t rest = n - i; rest > 0) {", "if (const int64_t rest = n - i; rest < 0) {"),
    ),
    _aten(
        "counts_the_padding",
        "the squares around the mean are summed in the empty part of the last vector, too",
        "parity",
        "y",
        ("y (3, 2, 5, 7)",),
        ("total[0][k] + V::set(V(0), v[k], count);", "total[0][k] + v[k];"),
    ),
    _aten(
        "ignores_expanded_gradients",
        "d_y is read through its pointer, though .sum() gives it stride 0",
        "parity",
        "d_x",
        ("right for contiguous incoming gradients, wrong when they are expanded", "stride 0"),
        ("normalise_backward(d_y.contiguous(), y", "normalise_backward(d_y, y"),
        (
            "inline bool scattered(const at::Tensor& x) { return",
            "inline bool scattered(const at::Tensor& x) { return false &&",
        ),
    ),
    _aten(
        "answers_for_one_value",
        "the variance of one value, 0/0, becomes nan in place of an error",
        "interface",
        "forward",
        (
            "forward computes at a size where an error is due",
            "B=1, C=1, H=1, W=1",
            "the variance of one value per channel",
        ),
        ("x.size(0) * x.size(2) * x.size(3) != 1,", "true,"),
    ),
    _aten(
        "in_place_of_a_copy_that_is_none",
        "x.transpose(0, 1).contiguous() is x itself where C = 1, and is written to",
        "purity",
        "x",
        ("forward changes the input x", "C=1"),
        (
            "const at::Tensor together = gathered(x), result = at::cpu::empty(together.sizes(), x.options());",
            "const at::Tensor together = gathered(x), result = together;",
        ),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"batch_norm2d/{planted.name}")
