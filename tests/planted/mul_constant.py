"""Wrong kernels of c x; `edits/mul_constant.txt` has them, each with the reason for which a check must reject it."""

from __future__ import annotations

from tests.planted.kernels import of_op

#: The planted kernels by name, and what makes a kernel of one.
PLANTED, kernel_of = of_op("mul_constant", whole_constant=lambda x, c: x * int(c))
