"""A x + y, the first kernel that a student meets: from two calls of PyTorch to one loop of your own."""

KERNELS = ("aten", "cpp", "cuda")
