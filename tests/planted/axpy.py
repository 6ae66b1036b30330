"""Wrong kernels of A x + y, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted


def _cpp(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "axpy/cpp", edits)


_ALL = (
    _cpp(
        "factor_forgotten",
        "the gradient of x is d_z, without the factor A",
        "parity",
        "d_x",
        ("got is 0.5 times want throughout", "N=1"),
        ("d_x_p[i] = scalar_t(A) * d_z_p[i];", "d_x_p[i] = d_z_p[i];"),
    ),
    _cpp(
        "factor_at_the_wrong_input",
        "d_y gets the factor, and d_x goes without",
        "parity",
        "d_y",
        ("got is 2 times want throughout", "N=1"),
        ("d_x_p[i] = scalar_t(A) * d_z_p[i];", "d_x_p[i] = d_z_p[i];"),
        ("d_y_p[i] = d_z_p[i];", "d_y_p[i] = scalar_t(A) * d_z_p[i];"),
    ),
    _cpp(
        "drops_the_tail",
        "a loop unrolled by eight forgets what is left over",
        "parity",
        "z",
        ("only where N is not a multiple of 8", "never written"),
        (
            "for (int64_t i = first; i < last; ++i) z_p[i] = scalar_t(A) * x_p[i] + y_p[i];",
            "for (int64_t i = first; i + 8 <= last; i += 8)\n"
            "        for (int64_t j = i; j < i + 8; ++j) z_p[j] = scalar_t(A) * x_p[j] + y_p[j];",
        ),
    ),
    _cpp(
        "ignores_strides",
        "y is read as if its elements lay side by side",
        "parity",
        "z",
        ("right for contiguous inputs, wrong when y is", "ignores strides"),
        ("y_row = y.contiguous();", "y_row = y;"),
    ),
    _cpp(
        "pointer_outlives_its_tensor",
        "the copy that contiguous() makes is freed before it is read, and others use its memory",
        "parity",
        "z",
        ("right for contiguous inputs, wrong when x is",),
        ("x_row = x.contiguous(), y_row", "y_row"),
        ("const at::Tensor z = at::cpu::empty(x.sizes(), x.options());", ""),
        (
            "const scalar_t* x_p = x_row.const_data_ptr<scalar_t>();",
            "const scalar_t* x_p = x.contiguous().const_data_ptr<scalar_t>();\n"
            "    z = at::cpu::empty(x.sizes(), x.options());",
        ),
        (
            'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "axpy", [&] {',
            'at::Tensor z;\n  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "axpy", [&] {',
        ),
    ),
    _cpp(
        "expanded_gradient",
        "d_z is read through its pointer, though .sum() gives it stride 0",
        "parity",
        "d_x",
        ("right for contiguous incoming gradients, wrong when they are expanded", "stride 0"),
        ("d_z_row = d_z.contiguous();", "d_z_row = d_z;"),
    ),
    _cpp(
        "float_inside_double",
        "the factor is a float, and so is the product",
        "parity",
        "z",
        ("looks like float32 arithmetic", "only in float64; float32 is right"),
        ("z_p[i] = scalar_t(A) * x_p[i] + y_p[i];", "z_p[i] = float(A) * float(x_p[i]) + y_p[i];"),
    ),
    _cpp(
        "in_place",
        "the sum is written into y",
        "purity",
        "y",
        ("forward changes the input y",),
        ("const at::Tensor z = at::cpu::empty(x.sizes(), x.options());", "const at::Tensor z = y_row;"),
        ("return z;", "return z.clone();"),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"axpy/{planted.name}")
