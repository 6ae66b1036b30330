"""Wrong kernels of sin(x) + sin(y), each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted


class _Silent(torch.autograd.Function):
    """The op with a derivative of its own, which is a constant to autograd: the second one is zero without a word."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.cosines = x.cos(), y.cos()
        return x.sin() + y.sin()

    @staticmethod
    def backward(ctx: Any, d_z: Tensor) -> Any:
        return tuple(d_z.detach() * cosine for cosine in ctx.cosines)


def _aten(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], new: str) -> Planted:
    return Planted(name, why, section, quantity, says, "sin_add/aten", (("return x.sin() + y.sin();", new),))


_ALL = (
    Planted(
        "sine_of_the_sum",
        "sin(x + y) is not sin(x) + sin(y)",
        "parity",
        "z",
        ("N=1",),
        python=lambda x, y: (x + y).sin(),
    ),
    Planted(
        "x_twice",
        "y is never looked at",
        "parity",
        "d_y",
        ("d_y is missing",),
        python=lambda x, y: x.sin() + x.sin(),
    ),
    _aten(
        "raw_pointer_without_backward",
        "autograd does not see what goes through a pointer: right values, no gradient",
        "parity",
        "d_x",
        ("d_x is missing",),
        "const at::Tensor a = x.contiguous(), b = y.contiguous();\n"
        "  at::Tensor z = at::empty(x.sizes(), x.options());\n"
        '  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sin_add", [&] {\n'
        "    const scalar_t *a_p = a.const_data_ptr<scalar_t>(), *b_p = b.const_data_ptr<scalar_t>();\n"
        "    scalar_t* z_p = z.mutable_data_ptr<scalar_t>();\n"
        "    for (int64_t i = 0; i < x.numel(); ++i) z_p[i] = std::sin(a_p[i]) + std::sin(b_p[i]);\n"
        "  });\n"
        "  return z;",
    ),
    Planted(
        "detached",
        "an input is cut out of the graph",
        "parity",
        "d_x",
        ("d_x is missing",),
        python=lambda x, y: x.detach().sin() + y.sin(),
    ),
    _aten(
        "in_place",
        "the sine is taken in the memory of x, which autograd refuses for a tensor of the user's",
        "parity",
        "forward",
        ("forward raises RuntimeError: a leaf Variable that requires grad is being used in an in-place operation",),
        "return at::sin_(const_cast<at::Tensor&>(x)) + y.sin();",
    ),
    _aten(
        "float_inside_double",
        "the sine of x is taken in float, whatever the dtype",
        "parity",
        "z",
        ("looks like float32 arithmetic", "only in float64; float32 is right"),
        "return x.to(at::kFloat).sin().to(x.scalar_type()) + y.sin();",
    ),
    Planted(
        "silent",
        "the second derivative is zero without a word",
        "gradcheck",
        "second derivative",
        ("silently taken as zero",),
        python=lambda x, y: _Silent.apply(x, y),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"sin_add/{planted.name}")
