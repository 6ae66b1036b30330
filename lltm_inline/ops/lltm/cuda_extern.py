"""LLTM on a GPU without a torch header in the CUDA text, so that an edit compiles in well under a second.

    forward     z        = [old_h, input] weights^T + bias                  (B, 3S), a GEMM of cuBLAS
                i, o, c  = sigmoid(z_i), sigmoid(z_o), elu(z_c)             (B, S) each
                new_cell = old_cell + c i;   new_h = tanh(new_cell) o

    backward    t        = tanh(new_cell)
                d_cell   = d_new_cell + d_new_h o (1 - t^2)                 = d_old_cell
                d_z      = [d_cell c i (1 - i),  d_new_h t o (1 - o),  d_cell i elu'(c)],   elu' = 1 if c > 0 else c + 1
                d_weights = d_z^T [old_h, input],   d_bias = sum of d_z over the batch
                d_old_h, d_input = d_z weights[:, :S], d_z weights[:, S:]

What it changes over `lltm/cuda`: nothing that runs on the GPU. The text is cut in two where tensors become pointers, and
each half is compiled by the compiler that is fast at it:

* The CUDA text knows pointers and sizes. nvcc, which parses every header twice, has no torch header to parse: a tenth of the
  time, or less. It holds the kernels and, for each, a launch function: one that ends in a `cudaStream_t`.
* The cpp text knows tensors. It is plain C++ for g++, without a header of CUDA, and calls `cell_forward` and
  `cell_backward` as if these took tensors.

What lies between is generated, and can be read with `python -m lltm_inline show lltm/cuda_extern --rendered`: `extern "C"`
functions `cell_forward_float` and `cell_forward_double`, which instantiate the launch function and return what CUDA says of
the launch, and functions of tensors, which check device, dtype and density, take torch's current stream, choose by dtype,
and throw if the launch failed. So what `lltm/cuda` must not forget at each launch is done here once.

Templates are the reason for the explicit instantiations: a template that is not instantiated in its own file is not
compiled at all, and the other file would not find it.

`THREADS` is the number of threads of a block.
"""

from __future__ import annotations

from ...model.registry import Kernel

CUDA = r"""
#include <algorithm>

template <class T> __device__ T sigmoid(T z) { return 1 / (1 + exp(-z)); }
template <class T> __device__ T elu(T z) { return z > 0 ? z : expm1(z); }

// A grid that covers S columns and B rows; what does not fit into it is done by the loops in steps of the grid.
dim3 blocks_for(int64_t B, int64_t S) {
  return dim3((S + THREADS - 1) / THREADS, std::min<int64_t>(B, 65535));
}

// gates holds z on entry and i, o, c afterwards.
template <class T>
__global__ void forward_kernel(T* gates, const T* old_cell, T* new_h, T* new_cell, int64_t B, int64_t S) {
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

// d_old_cell is null where nobody wants it.
template <class T>
__global__ void backward_kernel(
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
      if (d_old_cell) d_old_cell[n] = d_cell;
    }
  }
}

// The launch functions: the last parameter makes them that. A grid of no blocks is an error, so nothing is left undone.
template <class T>
void cell_forward(T* gates, const T* old_cell, T* new_h, T* new_cell, int64_t B, int64_t S, cudaStream_t stream) {
  if (B * S == 0) return;
  forward_kernel<T><<<blocks_for(B, S), THREADS, 0, stream>>>(gates, old_cell, new_h, new_cell, B, S);
}

template <class T>
void cell_backward(
    const T* d_new_h, const T* d_new_cell, const T* new_cell, const T* gates, T* d_z, T* d_old_cell, int64_t B, int64_t S,
    cudaStream_t stream) {
  if (B * S == 0) return;
  backward_kernel<T><<<blocks_for(B, S), THREADS, 0, stream>>>(d_new_h, d_new_cell, new_cell, gates, d_z, d_old_cell, B, S);
}
"""

CPP = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(
    const at::Tensor& input, const at::Tensor& weights, const at::Tensor& bias,
    const at::Tensor& old_h, const at::Tensor& old_cell) {
  const int64_t B = old_h.size(0), S = old_h.size(1);
  const at::Tensor gates = at::addmm(bias, at::cat({old_h, input}, 1), weights.t());
  const at::Tensor new_h = at::empty({B, S}, input.options()), new_cell = at::empty({B, S}, input.options());
  cell_forward(gates, old_cell.contiguous(), new_h, new_cell, B, S);
  return {new_h, new_cell, gates};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& d_new_h, const at::Tensor& d_new_cell, const at::Tensor& input, const at::Tensor& weights,
    const at::Tensor& old_h, const at::Tensor& new_cell, const at::Tensor& gates, std::array<bool, 5> wanted) {
  const int64_t B = old_h.size(0), S = old_h.size(1);
  const at::Tensor d_z = at::empty({B, 3 * S}, input.options());
  at::Tensor d_input, d_weights, d_bias, d_old_h, d_old_cell;
  if (wanted[4]) d_old_cell = at::empty({B, S}, input.options());
  cell_backward(d_new_h.contiguous(), d_new_cell.contiguous(), new_cell, gates, d_z, d_old_cell, B, S);

  if (wanted[0]) d_input = d_z.mm(weights.slice(1, S));
  if (wanted[1]) d_weights = d_z.t().mm(at::cat({old_h, input}, 1));
  if (wanted[2]) d_bias = d_z.sum(0);
  if (wanted[3]) d_old_h = d_z.mm(weights.slice(1, 0, S));
  return {d_input, d_weights, d_bias, d_old_h, d_old_cell};
}
"""

KERNEL = Kernel(
    "lltm/cuda_extern",
    cpp=CPP,
    cuda=CUDA,
    params={"THREADS": 256},
    saves=("input", "weights", "old_h", "new_cell"),
    doc=__doc__ or "",
)
