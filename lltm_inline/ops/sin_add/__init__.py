"""sin(x) + sin(y): a source of one line, without its own derivative."""

KERNELS = ("aten",)
