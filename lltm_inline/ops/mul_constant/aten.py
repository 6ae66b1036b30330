"""A tensor times a number in ATen: an argument that is not a tensor, and gradients that are not there.

    forward     y   = c x                                           any shape; c a Python number
    backward    d_x = c d_y                                         nothing, where there is no d_y

`float c` of the op's schema is a Python float, and that is a `double` in C++, in a kernel for float32 too. `saves=("c",)`
passes it to backward like a tensor. It has no gradient: backward returns one tensor for each tensor input, which is one
here, and `wanted` has one flag.

A gradient can be undefined: None in Python. It happens where a node further down the graph returns no gradient for what this
kernel gave it, and it means zero, without the memory and the arithmetic of zeros. A node that fills it up with zeros
(autograd says "materialises") makes the next one compute with them, and so on down to the parameters; an optimizer that
skips parameters without a gradient does not skip those whose gradient is zero, and moves them by its momentum or its weight
decay. So what comes in undefined should go out undefined.

Here backward takes d_y as `std::optional`, like `ctx.set_materialize_grads(False)` in PyTorch's notes, and tests it. In
fact the bridge to autograd has tested it before: where no output has a gradient, it does not call backward at all. An op
with several outputs gets some of them undefined; see `cube/aten`.

What it changes over `mul_constant/python`: nothing that would be faster. It is the same call of ATen, and calling a
registered operator takes a microsecond more than `x * c`, one of PyTorch's shortest calls.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/ATen.h>

at::Tensor forward(const at::Tensor& x, double c) {
  return at::mul(x, c);
}

at::Tensor backward(const std::optional<at::Tensor>& d_y, double c, std::array<bool, 1> wanted) {
  if (!d_y || !wanted[0]) return {};
  return at::mul(*d_y, c);
}
"""

KERNEL = Kernel("mul_constant/aten", cpp=CPP, saves=("c",), doc=__doc__ or "")
