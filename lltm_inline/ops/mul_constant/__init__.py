"""c x: an argument that is no tensor, and gradients that are not there."""

KERNELS = ("aten",)
