"""Wrong kernels of the derivative of the sigmoid, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted


def _aten(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "d_sigmoid/aten", edits)


def _cpp(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "d_sigmoid/cpp", edits)


_ALL = (
    _cpp(
        "wrong_sign",
        "the two branches of the second derivative change places",
        "parity",
        "d_z",
        ("wrong sign",),
        ("V::blendv(p - q, q - p, z > V(0))", "V::blendv(p - q, q - p, z < V(0))"),
    ),
    _cpp(
        "overflow",
        "e^-z of a large negative z is infinite, and infinity over infinity nan",
        "parity",
        "y",
        ("NaN", "30 times larger: exp() overflows"),
        ("const V e = exp_of_negative(z.abs().neg());", "const V e = z.neg().exp();"),
        ("V::blendv(p - q, q - p, z > V(0))", "(q - p)"),
    ),
    _cpp(
        "no_range",
        "k of a very negative x is shifted into the sign of 2^k",
        "parity",
        "y",
        ("wrong when they are 30 times larger",),
        ("const V x_c = maximum(x, V(C::lowest));", "const V x_c = x;"),
        ("return V::blendv(p * power, V(0), x < V(C::lowest));", "return p * power;"),
    ),
    _cpp(
        "short_series",
        "the series that is enough for float serves double too",
        "parity",
        "y",
        ("looks like float32 arithmetic", "only in float64; float32 is right"),
        ("for (const T coefficient : C::series)", "for (const T coefficient : Exp<float>::series)"),
    ),
    _cpp(
        "drops_the_tail",
        "elements after the last whole vector are never computed",
        "parity",
        "y",
        ("only where N is not a multiple of", "never written"),
        ("if (const int rest = last - i; rest > 0)", "if (const int rest = last - i; rest < 0)"),
    ),
    _cpp(
        "aligned_loads",
        "the pointer is rounded down to the width of a vector",
        "parity",
        "y",
        ("wrong when z is misaligned", "relies on alignment"),
        (
            "y.mutable_data_ptr<scalar_t>(), z_row.const_data_ptr<scalar_t>());",
            "y.mutable_data_ptr<scalar_t>(),\n"
            "         reinterpret_cast<const scalar_t*>(reinterpret_cast<uintptr_t>(z_row.const_data_ptr<scalar_t>()) & ~uintptr_t(31)));",
        ),
    ),
    _aten(
        "first_derivative_again",
        "backward multiplies by s' once more, in place of s''",
        "parity",
        "d_z",
        ("N=1",),
        ("return times_one_minus(d_s, 2, s);", "return d_s;"),
    ),
    _aten(
        "in_place_on_the_input",
        "the sigmoid is taken in the memory of z",
        "purity",
        "z",
        ("forward changes the input z",),
        ("const at::Tensor s = at::sigmoid(z);\n  return times_one_minus(s, 1, s);",
         "const at::Tensor s = at::sigmoid_(const_cast<at::Tensor&>(z));\n  return times_one_minus(s.clone(), 1, s);"),
    ),
)  # fmt: skip

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"d_sigmoid/{planted.name}")
