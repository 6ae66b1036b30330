"""Wrong kernels of |x|^2; `edits/complex_abs2.txt` has them, each with the reason for which a check must reject it."""

from __future__ import annotations

from torch import Tensor

from tests.planted.kernels import of_op


def _complex_result(x: Tensor) -> Tensor:
    """Multiply by the conjugate: the right value, but as a complex number."""
    return x * x.conj()


#: The planted kernels by name, and what makes a kernel of one.
PLANTED, kernel_of = of_op("complex_abs2", complex_result=_complex_result)
