"""The LLTM cell of PyTorch's C++ extension tutorial: an LSTM without a forget gate, as a ladder of kernels.

`python` is the reference; `aten` moves it to C++; `fused` makes one pass of everything but the GEMMs; `stable` is that
pass on the headers that compile fastest; `onednn` is it with each GEMM by the faster of two libraries. `class` is no
step of that ladder: beside the formula it has an object that holds the weights. `cuda` is the fused pass on a GPU,
`cuda_accessor` the same with tensors in the kernel's hands, `cuda_extern` without torch's headers there. Each module
says what it changes over the one before and what that gains.
"""

KERNELS = ("aten", "fused", "stable", "onednn", "class_", "cuda", "cuda_accessor", "cuda_extern")
