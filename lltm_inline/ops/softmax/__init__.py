"""The softmax of each row on a GPU: a maximum and a sum that all threads of a block need."""

KERNELS = ("cuda",)
