"""The softmax of each row on a GPU: one block a row, and a maximum and a sum that all its threads get.

    forward     y[b][n]   = exp(x[b][n] - m) / s              x, y (B, N); m and s are maximum and sum over the row
    backward    d_x[b][n] = y[b][n] (d_y[b][n] - t),   t = sum over k of d_y[b][k] y[b][k]

What it changes over `block_sum/cuda`: there one thread needs the result, here all do. `over_block` gives it to them, for a sum as for
a maximum:

* `__shfl_xor_sync` swaps numbers between two lanes. After five swaps, with the lanes 16, 8, 4, 2 and 1 away, each lane of a warp has
  the result of all 32: no tree, and no lane that has nothing to do.
* One lane of each warp writes it into shared memory. Behind the barrier each thread reads all of these few numbers, all lanes of a
  warp the same one at a time, which costs no more than one lane alone.
* A second barrier: the next call of `over_block` writes to the same places, and a fast warp must not do so while a slow one still
  reads.

A thread without a number brings one that changes nothing: minus infinity to a maximum, zero to a sum. It must not leave early:
others wait for it.

`THREADS` is the number of threads of a block: a multiple of 32.
"""

from __future__ import annotations

from ...model.registry import Kernel

CUDA = r"""
#include <algorithm>
#include <cmath>

struct Sum {
  template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct Max {
  template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

// Joins what all threads of a block bring, and gives the result to each of them.
template <class T, class F>
__device__ T over_block(T value, T* parts, F join) {
  for (int with = 16; with > 0; with /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, with));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int i = 1; i < THREADS / 32; ++i) value = join(value, parts[i]);
  __syncthreads();
  return value;
}

template <class T>
__global__ void forward_kernel(const T* x, T* y, int64_t B, int64_t N) {
  __shared__ T parts[THREADS / 32];
  for (int64_t b = blockIdx.x; b < B; b += gridDim.x) {
    T most = -INFINITY;
    for (int64_t n = threadIdx.x; n < N; n += THREADS) most = Max()(most, x[b * N + n]);
    most = over_block(most, parts, Max());
    T sum = 0;
    for (int64_t n = threadIdx.x; n < N; n += THREADS) sum += exp(x[b * N + n] - most);
    sum = over_block(sum, parts, Sum());
    for (int64_t n = threadIdx.x; n < N; n += THREADS) y[b * N + n] = exp(x[b * N + n] - most) / sum;
  }
}

template <class T>
__global__ void backward_kernel(const T* d_y, const T* y, T* d_x, int64_t B, int64_t N) {
  __shared__ T parts[THREADS / 32];
  for (int64_t b = blockIdx.x; b < B; b += gridDim.x) {
    T sum = 0;
    for (int64_t n = threadIdx.x; n < N; n += THREADS) sum += d_y[b * N + n] * y[b * N + n];
    sum = over_block(sum, parts, Sum());
    for (int64_t n = threadIdx.x; n < N; n += THREADS) d_x[b * N + n] = y[b * N + n] * (d_y[b * N + n] - sum);
  }
}

template <class T>
void softmax_forward(const T* x, T* y, int64_t B, int64_t N, cudaStream_t stream) {
  if (B * N == 0) return;
  forward_kernel<T><<<std::min<int64_t>(B, 65535), THREADS, 0, stream>>>(x, y, B, N);
}

template <class T>
void softmax_backward(const T* d_y, const T* y, T* d_x, int64_t B, int64_t N, cudaStream_t stream) {
  if (B * N == 0) return;
  backward_kernel<T><<<std::min<int64_t>(B, 65535), THREADS, 0, stream>>>(d_y, y, d_x, B, N);
}
"""

CPP = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

at::Tensor forward(const at::Tensor& x) {
  const at::Tensor x_row = x.contiguous(), y = at::empty(x.sizes(), x.options());
  softmax_forward(x_row, y, x.size(0), x.size(1));
  return y;
}

at::Tensor backward(const at::Tensor& d_y, const at::Tensor& y, std::array<bool, 1> wanted) {
  if (!wanted[0]) return {};
  const at::Tensor d_y_row = d_y.contiguous(), d_x = at::empty(y.sizes(), y.options());
  softmax_backward(d_y_row, y, d_x, y.size(0), y.size(1));
  return d_x;
}
"""

KERNEL = Kernel("softmax/cuda", cpp=CPP, cuda=CUDA, params={"THREADS": 128}, saves=("y",), doc=__doc__ or "")
