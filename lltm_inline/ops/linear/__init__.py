"""The linear layer: one GEMM and a bias that may be left out.

`python` is the reference, `torch.nn.functional.linear` itself; `aten` is the smallest kernel with an optional input and a
backward that asks of each gradient whether it is wanted.
"""

KERNELS = ("aten",)
