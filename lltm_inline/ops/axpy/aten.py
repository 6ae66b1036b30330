"""A x + y as one call of ATen, PyTorch's C++ library.

    forward     z   = y + A x                                       any shape
    backward    d_x = A d_z,   d_y = d_z

What it changes over `axpy/python`: `2 * x + y` is two calls, and the product goes through memory only to be read again.
ATen has the sum with a factor as one call, `at::add(y, x, A)`. Forward takes two thirds of the time, from a thousand
elements on to sizes far beyond the caches. To know what the library has in one call is the first optimisation, and often
the largest.

`A` is a param: it becomes `#define A 2` above the text. The op computes with 2, whatever a kernel computes with:
`replace(params={"A": 3})` builds and runs, and `check` calls it wrong, since it compares with the op.

Autograd says in `wanted` whether the gradients of x and of y are asked for. d_y holds the numbers of d_z, but in a tensor
of its own: `d_y = d_z` would be free, and autograd itself does so, but the result of an operator must not share memory
with its arguments. torch.compile counts on that when it writes new values over a tensor that is no longer
needed. It would write over d_y while d_z is still needed.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/ATen.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  return at::add(y, x, A);
}

std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& d_z, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  if (wanted[0]) d_x = at::mul(d_z, A);
  if (wanted[1]) d_y = d_z.clone();
  return {d_x, d_y};
}
"""

KERNEL = Kernel("axpy/aten", cpp=CPP, params={"A": 2}, doc=__doc__ or "")
