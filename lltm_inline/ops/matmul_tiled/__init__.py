"""The product of two matrices on a GPU: tiles in shared memory, so that each number is read once for many."""

KERNELS = ("cuda",)
