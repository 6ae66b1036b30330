"""x^3 with a backward that may be differentiated again.

    forward     y   = x^3,   dx = 3 x^2                             any shape
    backward    d_x = d_y dx + d_dx 6 x

Autograd differentiates what it has seen. It does not look into a kernel, neither into `forward` nor into `backward`; what it
sees are a kernel's inputs and outputs, and, where the kernel says `double_backward=True`, the ATen calls of `backward`. Two
things follow from that:

* An intermediate that forward computes and backward uses must be an output. The gradient d_x = d_y dx depends on x through
  dx. If dx is saved as an extra tensor, autograd takes it for a constant: the first derivative is right, and the second,
  6 x d_y, is zero, without a message. As an output, dx is known to come from this kernel, and differentiating d_y dx
  by dx means running backward once more, with a gradient for dx.
* So backward must handle gradients of all outputs: that is the term d_dx 6 x. Users who never use dx need it all the same,
  in the second derivative.

The alternative is to compute dx in backward from the saved x: `d_y * 3 * x * x`. It is right as well, and holds less memory;
it does the work again. It is always safe, and so the better choice where the intermediate is cheap, as here.

A gradient that was not given is undefined. If backward takes it as `std::optional`, it can see that and leave the term
out; as a plain `const at::Tensor&` it would get zeros, and multiply by them. At least one of the two is defined: otherwise
backward is not called.

What it changes over `cube/python`: forward is never differentiated by itself, so it may be any code: here one pass that
reads x once and writes both outputs, where PyTorch goes over memory three times. Backward is one call of ATen as long as
nobody uses dx, and two otherwise; autograd takes a call for each step of the formula and more. Forward takes half of the
time, forward and backward together a third.

Without `double_backward=True` a second derivative is an error. With it, `check` demands that it be right.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x) {
  const at::Tensor x_row = x.contiguous();
  const at::Tensor y = at::empty(x.sizes(), x.options()), dx = at::empty(x.sizes(), x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "cube", [&] {
    const scalar_t* x_p = x_row.const_data_ptr<scalar_t>();
    scalar_t *y_p = y.mutable_data_ptr<scalar_t>(), *dx_p = dx.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, x.numel(), GRAIN, [=](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const scalar_t value = x_p[i], square = value * value;
        y_p[i] = square * value;
        dx_p[i] = 3 * square;
      }
    });
  });
  return {y, dx};
}

at::Tensor backward(
    const std::optional<at::Tensor>& d_y, const std::optional<at::Tensor>& d_dx, const at::Tensor& x, const at::Tensor& dx,
    std::array<bool, 1> wanted) {
  if (!wanted[0]) return {};
  if (!d_dx) return *d_y * dx;
  if (!d_y) return *d_dx * x * 6;
  return at::addcmul(*d_y * dx, *d_dx, x, 6);
}
"""

KERNEL = Kernel(
    "cube/aten", cpp=CPP, params={"GRAIN": 32768}, saves=("x", "dx"), double_backward=True, doc=__doc__ or ""
)
