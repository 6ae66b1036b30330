"""Batch normalisation of images without scale and shift, with eps outside of the root, as the tutorial has it.

`python` is the reference; `aten` has a derivative worked out by hand, and reads each value as seldom as can be.
"""

KERNELS = ("aten",)
