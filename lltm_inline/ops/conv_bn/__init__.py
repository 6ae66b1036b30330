"""A convolution with its batch normalisation: two layers as one, for the sake of memory.

`python` is the reference; `unfused` is two layers in C++, each of which keeps what it needs; `fused` keeps nothing
between the two, and computes it again.
"""

KERNELS = ("unfused", "fused")
