"""Linear layer in C++: an optional input, and only the gradients that are wanted.

    forward     y        = x weight^T + bias                            (N, O)
    backward    d_x      = d_y weight                                   (N, I)
                d_weight = d_y^T x                                      (O, I)
                d_bias   = sum of d_y over the rows                     (O)

with x (N, I), weight (O, I), bias (O) or None.

What it changes over `linear/python`: the derivative is written down. Three things carry over to every kernel:

* A `Tensor?` of the schema is a `const std::optional<at::Tensor>&` here. `if (bias)` asks whether it is there, `*bias`
  is the tensor. `backward` need not ask: nobody wants the gradient of what is not there, so `wanted[2]` is false.
* `backward` returns one gradient for each Tensor of the schema, in that order, and an undefined `at::Tensor()` where
  `wanted` says no. In a first layer x is data, and d_x would be a GEMM for nothing: half of backward.
* `saves` names what backward reads, x and weight. bias is not among them, nor is y: a sum does not need its terms.

As fast as PyTorch where the GEMM is what takes time, since both call the same BLAS; in backward ahead of it at small
sizes, where a call costs more than its arithmetic. So nothing here goes through the dispatcher: `at::cpu::` names the
CPU code itself, and the transposes are views. BLAS reads those as they are; `weight.t().contiguous()` would be a copy.

The bias goes into y before the GEMM, which adds to what it finds. Trap: d_y may come expanded, with stride 0, from a
`y.sum()`; ATen reads it by its strides, and a kernel over raw pointers would have to make it contiguous.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/empty_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/sum_cpu_dispatch.h>

#include <cstring>

inline at::Tensor empty(at::IntArrayRef sizes, const at::Tensor& like) { return at::cpu::empty(sizes, like.options()); }

// A view, made without the dispatcher.
inline at::Tensor transpose(const at::Tensor& m) {
  return at::cpu::as_strided(m, {m.size(1), m.size(0)}, {m.stride(1), m.stride(0)}, m.storage_offset());
}

// Writes the same row into every row of y, as bytes: a copy need not know what they mean.
void fill_rows(const at::Tensor& y, const at::Tensor& row) {
  const at::Tensor from = row.contiguous();  // kept alive while its pointer is in use
  const size_t bytes = from.nbytes();
  const char* in = static_cast<const char*>(from.const_data_ptr());
  char* out = static_cast<char*>(y.mutable_data_ptr());
  at::parallel_for(0, y.size(0), GRAIN / (bytes + 1) + 1, [=](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) std::memcpy(out + n * bytes, in, bytes);
  });
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  at::Tensor y = empty({x.size(0), weight.size(0)}, x);
  if (!bias) return at::cpu::mm_out(y, x, transpose(weight));
  fill_rows(y, *bias);
  return at::cpu::addmm_(y, x, transpose(weight));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& weight, std::array<bool, 3> wanted) {
  at::Tensor d_x, d_weight, d_bias;
  if (wanted[0]) at::cpu::mm_out(d_x = empty(x.sizes(), x), d_y, weight);
  if (wanted[1]) at::cpu::mm_out(d_weight = empty(weight.sizes(), x), transpose(d_y), x);
  if (wanted[2]) at::cpu::sum_out(d_bias = empty({weight.size(0)}, x), d_y, at::IntArrayRef{0});
  return {d_x, d_weight, d_bias};
}
"""

KERNEL = Kernel("linear/aten", cpp=CPP, params={"GRAIN": 1 << 17}, saves=("x", "weight"), doc=__doc__ or "")
