"""Convolution of images, stride 1, no padding, no bias: the tutorial's first layer.

`python` is the reference; `aten` has a backward made of two convolutions, and picks the library that is fast for each.
"""

KERNELS = ("aten",)
