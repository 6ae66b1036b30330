"""LLTM on a GPU: the tutorial's kernels over raw pointers, with what was wrong in them mended.

    forward     z        = [old_h, input] weights^T + bias                  (B, 3S), a GEMM of cuBLAS
                i, o, c  = sigmoid(z_i), sigmoid(z_o), elu(z_c)             (B, S) each
                new_cell = old_cell + c i;   new_h = tanh(new_cell) o

    backward    t        = tanh(new_cell)
                d_cell   = d_new_cell + d_new_h o (1 - t^2)                 = d_old_cell
                d_z      = [d_cell c i (1 - i),  d_new_h t o (1 - o),  d_cell i elu'(c)],   elu' = 1 if c > 0 else c + 1
                d_weights = d_z^T [old_h, input],   d_bias = sum of d_z over the batch
                d_old_h, d_input = d_z weights[:, :S], d_z weights[:, S:]

What it changes over `lltm/aten`: ATen runs on a GPU as it is, but each of its calls is a launch (some microseconds) that
reads and writes whole matrices. Here everything but the GEMMs is one launch each way, in which a thread takes a cell (b, s)
through all of its formulas in registers. The activations overwrite z, which nobody needs any more.

How threads are laid out: the x axis of the grid goes along a row, so that the threads of a warp touch neighbouring numbers;
the y axis goes over the batch. Both are loops in steps of the grid. The y axis may hold 65 535 blocks and no more, and a
batch may be larger; a loop needs no case for that, and none for the end of a row either.

What the tutorial's text does not do, and this one does:

* Every launch is checked (`C10_CUDA_KERNEL_LAUNCH_CHECK`). A launch that fails, say for too many threads, computes nothing
  and says nothing: one gets zeros. An empty batch is such a launch, for a grid of no blocks is an error; so it is left out.
* It runs on torch's current stream. `<<<blocks, threads>>>` alone takes the default stream, which does not wait for the
  others, and which a CUDA graph does not record.
* It runs on the device of its inputs (`CUDAGuard`; the binding sets one too), not on the device that happens to be current.
* Nothing in it is tied to float. `fmaxf`, `expf` or a literal `1.0f` in a template make double precision a lie, and
  gradcheck fails; `exp`, `expm1` and `tanh` are overloaded, and whole numbers take the type of what stands beside them.
* elu' comes from the saved activation. Made from exp(z) it overflows for large z, and then 0 * inf is nan.
* Incoming gradients may be expanded (of `sum()` all strides are 0): a raw pointer knows no strides, so they are made dense.
* `const_data_ptr<T>()` in place of `data<T>()`, which is deprecated; `scalar_type()` in place of `type()`, with which
  AT_DISPATCH no longer compiles.

`THREADS` is the number of threads of a block. The headers are those few that are needed: with <torch/extension.h>, as the
tutorial has it, nvcc takes four times as long, and three gigabytes.
"""

from __future__ import annotations

from ...model.registry import Kernel

CUDA = r"""
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

template <class T> __device__ T sigmoid(T z) { return 1 / (1 + exp(-z)); }
template <class T> __device__ T elu(T z) { return z > 0 ? z : expm1(z); }

// A grid that covers S columns and B rows; what does not fit into it is done by the loops in steps of the grid.
dim3 blocks_for(int64_t B, int64_t S) {
  return dim3((S + THREADS - 1) / THREADS, std::min<int64_t>(B, 65535));
}

// gates holds z on entry and i, o, c afterwards.
template <class T>
__global__ void cell_forward(T* gates, const T* old_cell, T* new_h, T* new_cell, int64_t B, int64_t S) {
  for (int64_t b = blockIdx.y; b < B; b += gridDim.y) {
    for (int64_t s = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; s < S; s += int64_t(gridDim.x) * blockDim.x) {
      T* const row = gates + b * 3 * S + s;
      const T i = sigmoid(row[0]), o = sigmoid(row[S]), c = elu(row[2 * S]);
      const T cell = old_cell[b * S + s] + c * i;
      row[0] = i;
      row[S] = o;
      row[2 * S] = c;
      new_cell[b * S + s] = cell;
      new_h[b * S + s] = tanh(cell) * o;
    }
  }
}

template <class T>
__global__ void cell_backward(
    const T* d_new_h, const T* d_new_cell, const T* new_cell, const T* gates, T* d_z, T* d_old_cell, int64_t B, int64_t S) {
  for (int64_t b = blockIdx.y; b < B; b += gridDim.y) {
    for (int64_t s = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; s < S; s += int64_t(gridDim.x) * blockDim.x) {
      const int64_t n = b * S + s;
      const T* const row = gates + b * 3 * S + s;
      const T i = row[0], o = row[S], c = row[2 * S], t = tanh(new_cell[n]), d_h = d_new_h[n];
      const T d_cell = d_new_cell[n] + d_h * o * (1 - t * t);
      T* const d_row = d_z + b * 3 * S + s;
      d_row[0] = d_cell * c * i * (1 - i);
      d_row[S] = d_h * t * o * (1 - o);
      d_row[2 * S] = d_cell * i * (c > 0 ? 1 : c + 1);
      d_old_cell[n] = d_cell;
    }
  }
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(
    const at::Tensor& input, const at::Tensor& weights, const at::Tensor& bias,
    const at::Tensor& old_h, const at::Tensor& old_cell) {
  const c10::cuda::CUDAGuard guard(input.device());
  const int64_t B = old_h.size(0), S = old_h.size(1);
  const at::Tensor gates = at::addmm(bias, at::cat({old_h, input}, 1), weights.t());
  const at::Tensor old_rows = old_cell.contiguous();  // lives as long as its pointer is used
  const at::Tensor new_h = at::empty({B, S}, input.options()), new_cell = at::empty({B, S}, input.options());
  if (B * S > 0) {
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "lltm", [&] {
      cell_forward<scalar_t><<<blocks_for(B, S), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
          gates.mutable_data_ptr<scalar_t>(), old_rows.const_data_ptr<scalar_t>(), new_h.mutable_data_ptr<scalar_t>(),
          new_cell.mutable_data_ptr<scalar_t>(), B, S);
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
  const at::Tensor d_h_rows = d_new_h.contiguous(), d_cell_rows = d_new_cell.contiguous();  // they may be expanded
  const at::Tensor d_z = at::empty({B, 3 * S}, input.options()), d_cell = at::empty({B, S}, input.options());
  if (B * S > 0) {
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "lltm_backward", [&] {
      cell_backward<scalar_t><<<blocks_for(B, S), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
          d_h_rows.const_data_ptr<scalar_t>(), d_cell_rows.const_data_ptr<scalar_t>(), new_cell.const_data_ptr<scalar_t>(),
          gates.const_data_ptr<scalar_t>(), d_z.mutable_data_ptr<scalar_t>(), d_cell.mutable_data_ptr<scalar_t>(), B, S);
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    });
  }
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
    "lltm/cuda",
    cuda=CUDA,
    params={"THREADS": 256},
    saves=("input", "weights", "old_h", "new_cell"),
    doc=__doc__ or "",
)
