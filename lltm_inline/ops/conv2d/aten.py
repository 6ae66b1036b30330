"""Convolution in C++ with ATen: a backward made of two convolutions, and for each the library that is fast for it.

    forward     y[b, o, h, w]   = sum over c, k, l of x[b, c, h + k, w + l] w[o, c, k, l]

    backward    x[b, c, i, j] was multiplied with w[o, c, k, l] for y[b, o, i - k, j - l], and w[o, c, k, l] with
                x[b, c, h + k, w + l] for y[b, o, h, w]. So, with g = d_y,

                d_x[b, c, i, j] = sum over o, k, l of g[b, o, i - k, j - l] w[o, c, k, l]       where g has such a place
                d_w[o, c, k, l] = sum over b, h, w of g[b, o, h, w] x[b, c, h + k, w + l]

Both are convolutions again. In the first g is the image, with a border of K-1 rows and L-1 columns of zeros around it
(where "g has no such place"); its index runs down while k runs up, so the filter is flipped in both directions; and the
sum is over o, so filters and channels change places. In the second g is the filter, as large as the image but for K-1
rows and L-1 columns, and the sum is over b, so that the batch takes the place of the channels:

                d_x = conv2d(pad(g, K-1, L-1), flip(w) with O and C swapped)
                d_w = conv2d(x with B and C swapped, g with B and O swapped), with O and C swapped

(`tests/planted/conv2d.py` has them in two lines of Python.) Written like this they cost three copies and a filter of an
unusual size, which no library is made for; `at::convolution_backward` is the same two sums, each with a loop of its
own, and a mask that says which are wanted. The derivative of all this would be convolutions once more; as in the
tutorial, whose backward is `once_differentiable`, it is not there, and asking for it is a clear error.

What it changes over `conv2d/python`, for which PyTorch hands every float32 convolution to oneDNN: it asks first how
large the work is. oneDNN needs tens of microseconds to choose its loop and to bring images and filters into blocks of
16 channels. Below `SMALL` multiply-adds that is more than the work, and the old way wins by a factor of two to five:
copy the places of an image side by side, C K L numbers each (im2col), and call one matrix product. Gradients for images
of few channels (`THIN` or fewer, 3 for photographs) are no work for blocks of 16 either: there d_x is three times
faster the old way, at any size, for the price of C K L numbers per place while it is made. Beyond that the two are
level with PyTorch, since they are the same call: what is left is the multiplications, of which a large convolution does
hundreds for each number that it moves.

In float64 PyTorch goes the old way by itself.
"""

from __future__ import annotations

from ...model.registry import Kernel

#: The convolution and its two gradients; `conv_bn` is built of these, too.
CONVOLUTION = r"""
// Headers that declare and no more: <ATen/ops/convolution.h> brings half of ATen along, and doubles the time of an edit.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_slow_conv2d_backward_cpu_dispatch.h>
#include <ATen/ops/_slow_conv2d_forward_cpu_dispatch.h>
#include <ATen/ops/convolution_backward_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/convolution_compositeexplicitautograd_dispatch.h>

// Stride, padding, dilation: what at::convolution wants to know; there is one group, and nothing transposed.
constexpr int64_t ones[] = {1, 1}, zeros[] = {0, 0};

at::Tensor convolution(const at::Tensor& x, const at::Tensor& w) {
  TORCH_CHECK(w.numel() > 0, "conv2d: w has shape ", w.sizes(), ", want filters with at least one element");
  TORCH_CHECK(
      w.size(2) <= x.size(2) && w.size(3) <= x.size(3), "conv2d: the filters of w, ", w.sizes().slice(2),
      ", are larger than the images of x, ", x.sizes().slice(2));
  const at::Tensor images = x.contiguous(), filters = w.contiguous();  // or the result could be channels last
  const int64_t places = (x.size(2) - w.size(2) + 1) * (x.size(3) - w.size(3) + 1);
  if (x.size(0) && x.size(0) * places * w.numel() <= SMALL) {
    return at::cpu::_slow_conv2d_forward(images, filters, w.sizes().slice(2), {}, ones, zeros);
  }
  return at::compositeexplicitautograd::convolution(images, filters, {}, ones, zeros, ones, false, zeros, 1).contiguous();
}

// d_x and d_w, each undefined unless it is wanted.
std::tuple<at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, bool want_x, bool want_w) {
  const at::Tensor g = d_y.contiguous(), images = x.contiguous(), filters = w.contiguous();
  const auto gradients = [&](bool d_x, bool d_w, bool old_way) {
    const std::array<bool, 3> mask = {d_x, d_w, false};
    return old_way ? at::cpu::_slow_conv2d_backward(g, images, filters, w.sizes().slice(2), ones, zeros, mask)
                   : at::compositeexplicitautograd::convolution_backward(
                         g, images, filters, {}, ones, zeros, ones, false, zeros, 1, mask);
  };
  const int64_t multiply_adds = g.numel() * w.numel() / w.size(0);
  const bool x_small = g.numel() && (multiply_adds <= SMALL || w.size(1) <= THIN);
  const bool w_small = g.numel() && multiply_adds <= SMALL;
  at::Tensor d_x, d_w;
  // Filters first: their gradient is small, and what the library needs for it is gone before the other one is made.
  if (want_w) d_w = std::get<1>(gradients(false, true, w_small));
  if (want_x) d_x = std::get<0>(gradients(true, false, x_small));
  return {want_x ? d_x.contiguous() : d_x, want_w ? d_w.contiguous() : d_w};
}
"""

CPP = (
    CONVOLUTION
    + r"""
at::Tensor forward(const at::Tensor& x, const at::Tensor& w) { return convolution(x, w); }

std::tuple<at::Tensor, at::Tensor> backward(
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, std::array<bool, 2> wanted) {
  return convolution_backward(d_y, x, w, wanted[0], wanted[1]);
}
"""
)

PARAMS = {"SMALL": 1 << 20, "THIN": 4}

KERNEL = Kernel("conv2d/aten", cpp=CPP, params=PARAMS, saves=("x", "w"), doc=__doc__ or "")
