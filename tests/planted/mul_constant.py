"""Wrong kernels of c x, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted


def _aten(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "mul_constant/aten", edits)


_FORWARD = "return at::mul(x, c);"
_BACKWARD = "return at::mul(*d_y, c);"

_ALL = (
    _aten(
        "rounded_constant",
        "c passes through a float",
        "parity",
        "y",
        ("looks like float32 arithmetic", "only in float64; float32 is right"),
        (_FORWARD, "return at::mul(x, float(c));"),
    ),
    Planted(
        "whole_constant",
        "c passes through an integer",
        "parity",
        "y",
        ("N=1",),
        python=lambda x, c: x * int(c),
    ),
    _aten(
        "kept_constant",
        "c is that of the very first call",
        "parity",
        "y",
        ("y (1,) float64 differs in its one element",),
        (_FORWARD, "static const double kept = c;\n  return at::mul(x, kept);"),
    ),
    _aten(
        "constant_forgotten",
        "the gradient passes through as it is",
        "parity",
        "d_x",
        ("times want throughout",),
        (_BACKWARD, "return d_y->clone();"),
    ),
    _aten(
        "constant_becomes_a_tensor",
        "a scalar tensor of doubles makes a double of a scalar x, though not of any other",
        "interface",
        "y",
        ("y is float64, want float32", "tensors of shape ()"),
        (_FORWARD, "return at::mul(x, at::scalar_tensor(c, at::kDouble));"),
    ),
    _aten(
        "in_place",
        "the product is written into x, and x is returned",
        "parity",
        "forward",
        ("output 0 is an input itself; return a new tensor",),
        (_FORWARD, "return const_cast<at::Tensor&>(x).mul_(c);"),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"mul_constant/{planted.name}")
