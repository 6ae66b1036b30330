"""sin(x) + sin(y) in one line of C++: the smallest inline source.

    forward     z = sin(x) + sin(y)                                 any shape
    backward    none: autograd differentiates the three ATen calls

A kernel does not have to bring a derivative. If the text has no function `backward`, the binding registers `forward` above
autograd, which then sees the calls inside of it, just as it sees those of a Python function: d_x = d_z cos(x), and
d_y = d_z cos(y), and the derivatives of those, to any order. A kernel that has a `backward` is a black box
to autograd, and has only the derivatives that it brings.

The price is that this only holds for ATen calls. A raw pointer in `forward` is invisible to autograd; the gradient
through it would be missing without a message. `check` finds that.

What it changes over `sin_add/python`: where the line is written, and nothing else. The same three calls make the same
three passes, and Python's share of the time, a microsecond, is about what it costs to call a registered operator. C++
is not faster than PyTorch; fewer passes are. `torch.compile` proves it from either text, since it looks into kernels
without a `backward` as autograd does: it fuses the calls to one loop, which beyond the caches takes a quarter of the time.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/ATen.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  return x.sin() + y.sin();
}
"""

KERNEL = Kernel("sin_add/aten", cpp=CPP, doc=__doc__ or "")
