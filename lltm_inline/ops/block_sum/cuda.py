"""The sum of each row on a GPU: one block a row.

    forward     y[b] = sum over n of x[b][n]                        x (B, N), y (B)
    backward    d_x[b][n] = d_y[b]

The way of a number, from the outside in:

* Each thread adds up every THREADS-th number of its row. Neighbouring threads read neighbouring numbers, so the 32 lanes of a warp
  read their numbers with as few transactions as there can be.
* Every thread puts its part into shared memory, which all threads of a block see. `__syncthreads()` is the barrier: behind it
  all parts are there. Without it a thread reads what another one has not written yet.
* A tree: the first half of the threads adds the parts of the second half to its own, then the first quarter, and so on. `reach` is
  how far the other part lies. The threads that still work stand side by side: their warps do not part, and they want words of
  different banks. The barrier stands outside of the `if`, since every thread of the block must come to it.
* When 64 parts are left, one warp is enough. Its lanes hand numbers to each other in registers, by `__shfl_down_sync`: no shared
  memory, and no barrier, since the lanes of a warp wait for each other there.
* The barrier at the end of the loop over rows keeps the next row out of `parts` until this one is done with it.

Backward writes one number many times; ATen does that.

`THREADS` is the number of threads of a block: a power of two from 64 to 1024.
"""

from __future__ import annotations

from ...model.registry import Kernel

CUDA = r"""
#include <algorithm>

template <class T>
__global__ void block_sum_kernel(const T* x, T* y, int64_t B, int64_t N) {
  __shared__ T parts[THREADS];
  const int t = threadIdx.x;
  for (int64_t b = blockIdx.x; b < B; b += gridDim.x) {
    T sum = 0;
    for (int64_t n = t; n < N; n += THREADS) sum += x[b * N + n];
    parts[t] = sum;
    __syncthreads();
    for (int reach = THREADS / 2; reach > 32; reach /= 2) {
      if (t < reach) parts[t] += parts[t + reach];
      __syncthreads();
    }
    if (t < 32) {
      sum = parts[t] + parts[t + 32];
      for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
      if (t == 0) y[b] = sum;
    }
    __syncthreads();
  }
}

template <class T>
void row_sums(const T* x, T* y, int64_t B, int64_t N, cudaStream_t stream) {
  if (B == 0) return;
  block_sum_kernel<T><<<std::min<int64_t>(B, 65535), THREADS, 0, stream>>>(x, y, B, N);
}
"""

CPP = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

at::Tensor forward(const at::Tensor& x) {
  const at::Tensor x_row = x.contiguous(), y = at::empty({x.size(0)}, x.options());
  row_sums(x_row, y, x.size(0), x.size(1));
  return y;
}

at::Tensor backward(const at::Tensor& d_y, const at::Tensor& x, std::array<bool, 1> wanted) {
  if (!wanted[0]) return {};
  return d_y.unsqueeze(1).expand_as(x).clone(at::MemoryFormat::Contiguous);
}
"""

KERNEL = Kernel("block_sum/cuda", cpp=CPP, cuda=CUDA, params={"THREADS": 256}, saves=("x",), doc=__doc__ or "")
