"""Wrong kernels of the trace, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted


def _wraps_around(x: Tensor) -> Tensor:
    """Take every (C + 1)-th element of the rows one after the other: right as long as the matrix is not higher than wide."""
    return x.flatten()[:: x.shape[1] + 1].sum()


def _accessor(
    name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]
) -> Planted:
    return Planted(name, why, section, quantity, says, "trace/accessor", edits)


_ALL = (
    Planted(
        "wraps_around",
        "a high matrix has elements a whole row further that are on no diagonal",
        "parity",
        "y",
        ("C=1", "smallest failing size: R="),
        python=_wraps_around,
    ),
    _accessor(
        "first_column",
        "the second index stays zero",
        "parity",
        "y",
        ("y () float64 differs in its one element",),
        ("sum += x_a[i][i];", "sum += x_a[i][0];"),
    ),
    _accessor(
        "one_short",
        "the last element of the diagonal is left out",
        "parity",
        "y",
        ("smallest failing size: R=1, C=1",),
        ("for (int64_t i = 0; i < std::min(R, C); ++i) sum", "for (int64_t i = 0; i + 1 < std::min(R, C); ++i) sum"),
    ),
    _accessor(
        "pointer_without_strides",
        "element i of the diagonal is taken to be C + 1 elements after the one before",
        "parity",
        "y",
        ("right for contiguous inputs, wrong when x is transposed", "ignores strides"),
        ("sum += x_a[i][i];", "sum += x.const_data_ptr<scalar_t>()[i * (C + 1)];"),
    ),
    _accessor(
        "accessor_of_one_dtype",
        "the accessor is one of floats, and refuses a matrix of doubles",
        "parity",
        "forward",
        ("forward raises RuntimeError: expected scalar type Float but found Double", "only in float64"),
        ("x.accessor<const scalar_t, 2>()", "x.accessor<const float, 2>()"),
    ),
    _accessor(
        "not_cleared",
        "d_x is memory as it was found, but for the diagonal",
        "parity",
        "d_x",
        ("never written",),
        (".zero_()", ""),
    ),
    _accessor(
        "gradient_everywhere",
        "every element of d_x gets d_y, as for a sum over the matrix",
        "parity",
        "d_x",
        ("d_x (3, 17) float64 differs in 48 of 51 elements",),
        ("d_x_a[i][i] = gradient;", "for (int64_t j = 0; j < C; ++j) d_x_a[i][j] = gradient;"),
    ),
    _accessor(
        "keeps_an_axis",
        "y is a row of one number and no scalar",
        "interface",
        "y",
        ("y has shape (1,), want ()",),
        ("const at::Tensor y = at::cpu::empty({}, x.options());", "const at::Tensor y = at::cpu::empty({1}, x.options());"),
    ),
)  # fmt: skip

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"trace/{planted.name}")
