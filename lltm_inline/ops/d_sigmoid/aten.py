"""The derivative of the sigmoid in ATen calls, with helper functions.

    forward     s   = sigmoid(z)                                    any shape
                y   = (1 - s) s = s - s s
    backward    d_z = d_y (1 - s) s (1 - 2 s)

A source may define any functions besides `forward` and `backward`: the binding looks for those two names at file scope and
leaves the rest alone. Helpers keep the formula readable, and are inlined or cost a nanosecond.

What it changes over `d_sigmoid/python`: it asks for each pass over memory whether it is needed. (1 - s) s as it stands makes
two more tensors; `addcmul` has s - s s in one call, and with the underscore writes it into s itself, which is not needed
any more. Backward does the same: three passes and two new tensors, where autograd makes more than twice as many. Beyond the
caches that takes half of the time, in either direction.

Only z is saved: usually it is kept in any case, and the second sigmoid takes no longer than reading a saved one.

An in-place call is safe on a tensor that the kernel itself has just made, and on no other: on z it would change the
caller's data, and `check` would say so.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/ATen.h>

// r (1 - a s), in the memory of r.
at::Tensor times_one_minus(at::Tensor r, double a, const at::Tensor& s) {
  return r.addcmul_(r, s, -a);
}

at::Tensor forward(const at::Tensor& z) {
  const at::Tensor s = at::sigmoid(z);
  return times_one_minus(s, 1, s);
}

at::Tensor backward(const at::Tensor& d_y, const at::Tensor& z, std::array<bool, 1> wanted) {
  if (!wanted[0]) return {};
  const at::Tensor s = at::sigmoid(z);
  const at::Tensor d_s = at::sigmoid_backward(d_y, s);  // d_y (1 - s) s
  return times_one_minus(d_s, 2, s);
}
"""

KERNEL = Kernel("d_sigmoid/aten", cpp=CPP, saves=("z",), doc=__doc__ or "")
