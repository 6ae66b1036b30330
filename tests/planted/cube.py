"""Wrong kernels of x^3; `edits/cube.txt` has them, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted, of_op


class _Forgetful(torch.autograd.Function):
    """The tutorial's wrong cube, in Python: the intermediate lives in `ctx`, and backward does not know that it depends on x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        ctx.dx = 3 * x**2
        return x**3, ctx.dx.clone()

    @staticmethod
    def backward(ctx: Any, d_y: Tensor, d_dx: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return d_y * ctx.dx + d_dx * 6 * x


#: The planted kernels by name.
PLANTED, _kernel_of = of_op("cube", intermediate_in_ctx=lambda x: _Forgetful.apply(x))


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op; those in C++ say, like `cube/aten`, that they may be differentiated twice."""
    return replace(_kernel_of(planted), double_backward=planted.python is None)
