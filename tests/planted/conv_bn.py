"""Wrong kernels of convolution with batch normalisation: `edits/conv_bn.txt`, each with the reason to reject it."""

from __future__ import annotations

from tests.planted.kernels import of_op

#: The planted kernels by name, and what makes a kernel of one.
PLANTED, kernel_of = of_op("conv_bn")
