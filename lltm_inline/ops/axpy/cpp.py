"""A x + y as a loop of your own: the first kernel.

    forward     z[i]   = A x[i] + y[i],    i = 0 ... N - 1          tensors of any shape with N elements
    backward    d_x[i] = A d_z[i],   d_y[i] = d_z[i]

How the text reads, from the outside in:

* `forward` is called with inputs that fit. The generated binding has refused other devices and dtypes, and a y whose shape
  is not that of x; there is no broadcasting.
* A tensor is memory and the steps (strides) in which to walk through it. `contiguous()` gives one whose elements lie side
  by side: the tensor itself where they do, a copy where they do not. Keep it in a variable: in
  `x.contiguous().const_data_ptr<float>()` the copy is freed at the semicolon, and the pointer points to freed memory.
* `AT_DISPATCH_FLOATING_TYPES` compiles its body twice, with `scalar_t` for float and for double, and runs the one that fits.
* `at::parallel_for` cuts the range into pieces, one for each thread, but none below `GRAIN` elements: waking a thread takes
  microseconds, and in that time one thread adds ten thousand numbers.
* The loop is plain: neighbours in memory, no branch, no call. So the compiler takes 8 or 16 elements at a time by itself.
  The branches of the loop in backward do not depend on i, and the compiler takes them out and makes a loop for each case.
  `A` is a macro; as a `scalar_t` it does not turn float arithmetic into double where it is 2.5.

What it changes over `axpy/aten`: forward makes one pass as before, and backward too, which reads d_z once for both
gradients. It saves what a call of a library does to handle every case: type promotion, broadcasting, the
dispatcher. Forward and backward together take about three quarters of the time at a thousand elements; beyond the caches
the kernel runs about as fast as memory can be copied, and no kernel can be faster.

Gradients that come from `.sum()` are expanded: one number with stride 0. A raw pointer would read past that number;
so `contiguous()` is needed in backward too.

A tensor of more than about 32 MiB is not handed out again by the allocator but comes fresh from the operating system at
every call, and the first touch of each of its pages of 4 KiB costs more than the arithmetic on it. Any kernel with a new
result then takes three times as long per element. The environment variable THP_MEM_ALLOC_ENABLE=1 asks for pages of 2 MiB.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_cpu_dispatch.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
  const at::Tensor z = at::cpu::empty(x.sizes(), x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "axpy", [&] {
    const scalar_t* x_p = x_row.const_data_ptr<scalar_t>();
    const scalar_t* y_p = y_row.const_data_ptr<scalar_t>();
    scalar_t* z_p = z.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, z.numel(), GRAIN, [=](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) z_p[i] = scalar_t(A) * x_p[i] + y_p[i];
    });
  });
  return z;
}

std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& d_z, std::array<bool, 2> wanted) {
  const at::Tensor d_z_row = d_z.contiguous();
  at::Tensor d_x, d_y;
  if (wanted[0]) d_x = at::cpu::empty(d_z.sizes(), d_z.options());
  if (wanted[1]) d_y = at::cpu::empty(d_z.sizes(), d_z.options());
  AT_DISPATCH_FLOATING_TYPES(d_z.scalar_type(), "axpy", [&] {
    const scalar_t* d_z_p = d_z_row.const_data_ptr<scalar_t>();
    scalar_t* d_x_p = wanted[0] ? d_x.mutable_data_ptr<scalar_t>() : nullptr;
    scalar_t* d_y_p = wanted[1] ? d_y.mutable_data_ptr<scalar_t>() : nullptr;
    at::parallel_for(0, d_z.numel(), GRAIN, [=](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        if (d_x_p) d_x_p[i] = scalar_t(A) * d_z_p[i];
        if (d_y_p) d_y_p[i] = d_z_p[i];
      }
    });
  });
  return {d_x, d_y};
}
"""

KERNEL = Kernel("axpy/cpp", cpp=CPP, params={"A": 2, "GRAIN": 32768}, doc=__doc__ or "")
