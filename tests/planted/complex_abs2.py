"""Wrong kernels of |x|^2, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted


def _complex_result(x: Tensor) -> Tensor:
    """Multiply by the conjugate: the right value, but as a complex number."""
    return x * x.conj()


def _pointer(
    name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]
) -> Planted:
    return Planted(name, why, section, quantity, says, "complex_abs2/pointer", edits)


_ALL = (
    _pointer(
        "planes",
        "all real parts are taken to come first, and all imaginary parts after them",
        "parity",
        "y",
        ("smallest failing size: N=2",),
        ("im = x_p[2 * i + 1];", "im = x_p[y.numel() + i];"),
        ("const scalar_t re = x_p[2 * i],", "const scalar_t re = x_p[i],"),
        ("GRAIN, [=](int64_t first, int64_t last) {\n      for (int64_t i = first; i < last; ++i) {\n        const",
         "GRAIN, [&](int64_t first, int64_t last) {\n      for (int64_t i = first; i < last; ++i) {\n        const"),
    ),
    _pointer(
        "no_steps_of_two",
        "the pointer goes on by one real for each complex number",
        "parity",
        "y",
        ("smallest failing size: N=2",),
        ("const scalar_t re = x_p[2 * i], im = x_p[2 * i + 1];", "const scalar_t re = x_p[i], im = x_p[i + 1];"),
    ),
    _pointer(
        "ignores_strides",
        "a view is read as if its elements lay side by side",
        "parity",
        "y",
        ("right for contiguous inputs, wrong when x is", "ignores strides"),
        ("return x.resolve_conj().resolve_neg().contiguous();", "return x.resolve_conj().resolve_neg();"),
    ),
    _pointer(
        "half_the_gradient",
        "d_x is d_y x: the derivative for x with its conjugate held fixed is another convention",
        "parity",
        "d_x",
        ("got is 0.5", "times want throughout"),
        ("d_x_p[2 * i] = 2 * d_y_p[i]", "d_x_p[2 * i] = d_y_p[i]"),
        ("d_x_p[2 * i + 1] = 2 * d_y_p[i]", "d_x_p[2 * i + 1] = d_y_p[i]"),
    ),
    _pointer(
        "conjugate_gradient",
        "d_x is 2 d_y times the conjugate of x: uphill for the real part and downhill for the imaginary one",
        "parity",
        "d_x",
        ("N=1",),
        ("d_x_p[2 * i + 1] = 2 * d_y_p[i]", "d_x_p[2 * i + 1] = -2 * d_y_p[i]"),
    ),
    _pointer(
        "absolute_value",
        "the root is taken: |x| and not |x|^2",
        "parity",
        "y",
        ("N=1",),
        ("y_p[i] = re * re + im * im;", "y_p[i] = std::sqrt(re * re + im * im);"),
    ),
    _pointer(
        "real_gradient",
        "d_x is a real tensor, as y is",
        "interface",
        "d_x",
        ("d_x is float64, want complex128",),
        ("  return d_x;", "  return at::real(d_x).contiguous();"),
        ("#include <ATen/Dispatch.h>", "#include <ATen/Dispatch.h>\n#include <ATen/ops/real.h>"),
    ),
    Planted(
        "complex_result",
        "x times its conjugate has no imaginary part, but is a complex tensor",
        "interface",
        "y",
        ("y is complex128, want float64",),
        python=_complex_result,
    ),
)  # fmt: skip

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"complex_abs2/{planted.name}")
