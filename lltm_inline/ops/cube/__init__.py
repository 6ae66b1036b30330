"""x^3 with its derivative: a backward that may be differentiated again."""

KERNELS = ("aten",)
