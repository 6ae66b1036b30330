"""Wrong kernels of sin(x) + sin(y); `edits/sin_add.txt` has them, each with the reason for which a check must reject it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.planted.kernels import of_op


class _Silent(torch.autograd.Function):
    """The op with a derivative of its own, which is a constant to autograd: the second one is zero without a word."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.cosines = x.cos(), y.cos()
        return x.sin() + y.sin()

    @staticmethod
    def backward(ctx: Any, d_z: Tensor) -> Any:
        return tuple(d_z.detach() * cosine for cosine in ctx.cosines)


#: The planted kernels by name, and what makes a kernel of one.
PLANTED, kernel_of = of_op(
    "sin_add",
    sine_of_the_sum=lambda x, y: (x + y).sin(),
    x_twice=lambda x, y: x.sin() + x.sin(),
    detached=lambda x, y: x.detach().sin() + y.sin(),
    silent=lambda x, y: _Silent.apply(x, y),
)
