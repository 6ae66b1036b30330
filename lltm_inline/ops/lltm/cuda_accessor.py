"""LLTM on a GPU with kernels that take tensors: PackedTensorAccessor32 in place of raw pointers.

    forward     z        = [old_h, input] weights^T + bias                  (B, 3, S), a GEMM of cuBLAS
                i, o, c  = sigmoid(z_i), sigmoid(z_o), elu(z_c)             (B, S) each
                new_cell = old_cell + c i;   new_h = tanh(new_cell) o

    backward    t        = tanh(new_cell)
                d_cell   = d_new_cell + d_new_h o (1 - t^2)                 = d_old_cell
                d_z      = [d_cell c i (1 - i),  d_new_h t o (1 - o),  d_cell i elu'(c)],   elu' = 1 if c > 0 else c + 1
                d_weights = d_z^T [old_h, input],   d_bias = sum of d_z over the batch
                d_old_h, d_input = d_z weights[:, :S], d_z weights[:, S:]

What it changes over `lltm/cuda`: no index is worked out by hand. An accessor is a pointer with its sizes and strides, small
enough to be passed to a kernel by value, and `gates[b][2][s]` says what `gates[b * 3 * S + 2 * S + s]` hides.

* Strides are used. An expanded gradient, a transposed state: each is read in place, and nothing is made dense
  first. That is the gain at run time, where there is one; a dense tensor is read at the speed of a pointer.
* Types and dimensions are checked when the accessor is made: a tensor of another dtype, or of two dimensions where the
  kernel says three, is an error with words and not a number read from somewhere. (The gates are (B, 3, S) in both
  directions: in the tutorial the two disagree.)
* `32` is the width of an index: integer arithmetic in 64 bits costs a GPU several instructions. A tensor of 2^31 elements or
  more is refused by name; for those there is `packed_accessor64`.
* `RestrictPtrTraits` promises that the tensors do not overlap, so that a load may be moved before a store. The gates
  are read and written in place, through one accessor, which the promise allows.

The accessor knows the extents too, so the kernels take no B and S. `const scalar_t` makes one that cannot be written to.
Launches, streams, devices, empty batches and precision: as `lltm/cuda` says. `THREADS` is the number of threads of a block.
"""

from __future__ import annotations

from ...model.registry import Kernel

CUDA = r"""
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/TensorAccessor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

template <class T, size_t N> using Accessor = at::PackedTensorAccessor32<T, N, at::RestrictPtrTraits>;

// The accessor of a tensor: access<float, 2>(x), access<const float, 2>(x).
template <class T, size_t N> Accessor<T, N> access(const at::Tensor& tensor) {
  return tensor.packed_accessor32<T, N, at::RestrictPtrTraits>();
}

template <class T> __device__ T sigmoid(T z) { return 1 / (1 + exp(-z)); }
template <class T> __device__ T elu(T z) { return z > 0 ? z : expm1(z); }

// A grid that covers S columns and B rows; what does not fit into it is done by the loops in steps of the grid.
dim3 blocks_for(int64_t B, int64_t S) {
  return dim3((S + THREADS - 1) / THREADS, std::min<int64_t>(B, 65535));
}

// gates holds z on entry and i, o, c afterwards.
template <class T>
__global__ void cell_forward(
    Accessor<T, 3> gates, const Accessor<const T, 2> old_cell, Accessor<T, 2> new_h, Accessor<T, 2> new_cell) {
  for (int b = blockIdx.y; b < gates.size(0); b += gridDim.y) {
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < gates.size(2); s += gridDim.x * blockDim.x) {
      const T i = sigmoid(gates[b][0][s]), o = sigmoid(gates[b][1][s]), c = elu(gates[b][2][s]);
      const T cell = old_cell[b][s] + c * i;
      gates[b][0][s] = i;
      gates[b][1][s] = o;
      gates[b][2][s] = c;
      new_cell[b][s] = cell;
      new_h[b][s] = tanh(cell) * o;
    }
  }
}

template <class T>
__global__ void cell_backward(
    const Accessor<const T, 2> d_new_h, const Accessor<const T, 2> d_new_cell, const Accessor<const T, 2> new_cell,
    const Accessor<const T, 3> gates, Accessor<T, 3> d_z, Accessor<T, 2> d_old_cell) {
  for (int b = blockIdx.y; b < gates.size(0); b += gridDim.y) {
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < gates.size(2); s += gridDim.x * blockDim.x) {
      const T i = gates[b][0][s], o = gates[b][1][s], c = gates[b][2][s], t = tanh(new_cell[b][s]), d_h = d_new_h[b][s];
      const T d_cell = d_new_cell[b][s] + d_h * o * (1 - t * t);
      d_z[b][0][s] = d_cell * c * i * (1 - i);
      d_z[b][1][s] = d_h * t * o * (1 - o);
      d_z[b][2][s] = d_cell * i * (c > 0 ? 1 : c + 1);
      d_old_cell[b][s] = d_cell;
    }
  }
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(
    const at::Tensor& input, const at::Tensor& weights, const at::Tensor& bias,
    const at::Tensor& old_h, const at::Tensor& old_cell) {
  const c10::cuda::CUDAGuard guard(input.device());
  const int64_t B = old_h.size(0), S = old_h.size(1);
  const at::Tensor gates = at::addmm(bias, at::cat({old_h, input}, 1), weights.t()).view({B, 3, S});
  const at::Tensor new_h = at::empty({B, S}, input.options()), new_cell = at::empty({B, S}, input.options());
  if (B * S > 0) {
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "lltm", [&] {
      cell_forward<scalar_t><<<blocks_for(B, S), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
          access<scalar_t, 3>(gates), access<const scalar_t, 2>(old_cell), access<scalar_t, 2>(new_h),
          access<scalar_t, 2>(new_cell));
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    });
  }
  return {new_h, new_cell, gates};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& d_new_h, const at::Tensor& d_new_cell, const at::Tensor& input, const at::Tensor& weights,
    const at::Tensor& old_h, const at::Tensor& new_cell, const at::Tensor& gates, std::array<bool, 5> wanted) {
  const c10::cuda::CUDAGuard guard(input.device());
  const int64_t B = old_h.size(0), S = old_h.size(1);
  const at::Tensor d_gates = at::empty({B, 3, S}, input.options()), d_cell = at::empty({B, S}, input.options());
  if (B * S > 0) {
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "lltm_backward", [&] {
      cell_backward<scalar_t><<<blocks_for(B, S), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
          access<const scalar_t, 2>(d_new_h), access<const scalar_t, 2>(d_new_cell), access<const scalar_t, 2>(new_cell),
          access<const scalar_t, 3>(gates), access<scalar_t, 3>(d_gates), access<scalar_t, 2>(d_cell));
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    });
  }
  const at::Tensor d_z = d_gates.view({B, 3 * S});
  at::Tensor d_input, d_weights, d_bias, d_old_h, d_old_cell;
  if (wanted[0]) d_input = d_z.mm(weights.slice(1, S));
  if (wanted[1]) d_weights = d_z.t().mm(at::cat({old_h, input}, 1));
  if (wanted[2]) d_bias = d_z.sum(0);
  if (wanted[3]) d_old_h = d_z.mm(weights.slice(1, 0, S));
  if (wanted[4]) d_old_cell = d_cell;
  return {d_input, d_weights, d_bias, d_old_h, d_old_cell};
}
"""

KERNEL = Kernel(
    "lltm/cuda_accessor",
    cuda=CUDA,
    params={"THREADS": 256},
    saves=("input", "weights", "old_h", "new_cell"),
    doc=__doc__ or "",
)
