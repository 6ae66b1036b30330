"""Wrong kernels of x^3, each with the reason for which a check must reject it: above all, wrong second derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted


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


def _aten(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "cube/aten", edits)


_ALL = (
    _aten(
        "intermediate_as_extra",
        "dx is handed to backward as an extra tensor, which autograd knows as a constant; the first derivative is right",
        "gradcheck",
        "second derivative",
        ("second derivative for x is wrong without an error",),
        ("std::tuple<at::Tensor, at::Tensor> forward", "std::tuple<at::Tensor, at::Tensor, at::Tensor> forward"),
        ("return {y, dx};", "return {y, dx, dx.clone()};"),
        ("const at::Tensor& x, const at::Tensor& dx,", "const at::Tensor& x, const at::Tensor&, const at::Tensor& dx,"),
    ),
    _aten(
        "cut_out_of_the_graph",
        "backward detaches what it was given",
        "gradcheck",
        "second derivative",
        ("second derivative for x is wrong without an error",),
        ("return at::addcmul(*d_y * dx, *d_dx, x, 6);", "return at::addcmul(*d_y * dx.detach(), *d_dx, x.detach(), 6);"),
    ),
    _aten(
        "pointers_in_backward",
        "backward is a loop over pointers, into which autograd does not see",
        "gradcheck",
        "second derivative",
        ("second derivative is silently taken as zero",),
        (
            "return at::addcmul(*d_y * dx, *d_dx, x, 6);",
            "const at::Tensor one = d_y->contiguous(), two = d_dx->contiguous(), three = x.contiguous();\n"
            "  const at::Tensor d_x = at::empty(x.sizes(), x.options());\n"
            '  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "cube", [&] {\n'
            "    const scalar_t *a = one.const_data_ptr<scalar_t>(), *b = two.const_data_ptr<scalar_t>();\n"
            "    const scalar_t* value = three.const_data_ptr<scalar_t>();\n"
            "    scalar_t* d = d_x.mutable_data_ptr<scalar_t>();\n"
            "    for (int64_t i = 0; i < x.numel(); ++i) d[i] = (3 * a[i] * value[i] + 6 * b[i]) * value[i];\n"
            "  });\n"
            "  return d_x;",
        ),
    ),
    Planted(
        "intermediate_in_ctx",
        "the same with a Python function: the intermediate is an attribute of ctx",
        "gradcheck",
        "second derivative",
        ("second derivative for x is wrong without an error",),
        python=lambda x: _Forgetful.apply(x),
    ),
    _aten(
        "no_term_for_dx",
        "backward answers for y alone: right as long as nobody uses dx and differentiates once",
        "parity",
        "d_x",
        ("N=1",),
        ("return at::addcmul(*d_y * dx, *d_dx, x, 6);", "return *d_y * dx;"),
        ("if (!d_y) return *d_dx * x * 6;", "if (!d_y) return at::zeros_like(x);"),
    ),
    _aten(
        "takes_both_for_granted",
        "an undefined gradient is used as if it were there",
        "parity",
        "backward",
        ("backward raises RuntimeError: bad optional access", "only y used (d_dx undefined)"),
        ("if (!d_dx) return *d_y * dx;", ""),
        ("if (!d_y) return *d_dx * x * 6;", ""),
        ("at::addcmul(*d_y * dx, *d_dx, x, 6);", "at::addcmul(d_y.value() * dx, d_dx.value(), x, 6);"),
    ),
    _aten(
        "only_dx_used",
        "where y is not used, the term of dx is that of its own derivative's derivative",
        "parity",
        "d_x",
        ("only dx used (d_y undefined)", "got is 0.5 times want throughout"),
        ("if (!d_y) return *d_dx * x * 6;", "if (!d_y) return *d_dx * x * 3;"),
    ),
    _aten(
        "wrong_power",
        "dx is 2 x^2",
        "parity",
        "dx",
        ("got is 0.6667 times want throughout",),
        ("dx_p[i] = 3 * square;", "dx_p[i] = 2 * square;"),
    ),
)  # fmt: skip

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op; those in C++ say, like `cube/aten`, that they may be differentiated twice."""
    return replace(planted.kernel(), name=f"cube/{planted.name}", double_backward=planted.python is None)
