"""The derivative of the sigmoid: helper functions in a source, from ATen calls to vectors in registers."""

KERNELS = ("aten", "cpp")
