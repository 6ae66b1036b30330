"""|x|^2 of complex numbers, read as the interleaved reals that they are."""

KERNELS = ("pointer",)
