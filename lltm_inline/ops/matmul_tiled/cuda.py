"""The product of two matrices on a GPU, tile by tile.

    forward     c = a b                                             a (M, K), b (K, N), c (M, N)
    backward    d_a = d_c b^T,   d_b = a^T d_c                      by the same kernel

Each thread computes one element of c, and a block of TILE by TILE threads a tile of c. Without shared memory each thread would read
a row of a and a column of b from global memory, 2 K numbers. Here the block goes along K in steps of TILE:

* Each thread copies one number of a and one of b into shared memory: the tiles that this step needs. Neighbouring threads copy
  neighbouring numbers.
* A barrier: now the tiles are whole.
* Each thread multiplies a row of the one tile with a column of the other. The threads of a row read the same number of the tile of a,
  which is given to all at once, and numbers side by side of the tile of b: no bank is asked for two words.
* A barrier again: the next step must not write over a tile that a slow warp still reads.

So each number is read from global memory once for TILE threads. At the edges the tiles stick out: there a zero is written into
shared memory, which adds nothing. A thread without an element of c copies and waits like the others, and only its last
store is left out; if it returned at once, the others would wait for it at the barrier.

`TILE` is the width of a tile: 8, 16 or 32, as a block has TILE * TILE threads.
"""

from __future__ import annotations

from ...model.registry import Kernel

CUDA = r"""
template <class T>
__global__ void product_kernel(const T* a, const T* b, T* c, int64_t M, int64_t K, int64_t N) {
  __shared__ T a_tile[TILE][TILE], b_tile[TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t m = blockIdx.y * int64_t(TILE) + y, n = blockIdx.x * int64_t(TILE) + x;
  T sum = 0;
  for (int64_t k = 0; k < K; k += TILE) {
    a_tile[y][x] = m < M && k + x < K ? a[m * K + k + x] : T(0);
    b_tile[y][x] = k + y < K && n < N ? b[(k + y) * N + n] : T(0);
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  if (m < M && n < N) c[m * N + n] = sum;
}

template <class T>
void product(const T* a, const T* b, T* c, int64_t M, int64_t K, int64_t N, cudaStream_t stream) {
  if (M * N == 0) return;
  const dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), threads(TILE, TILE);
  product_kernel<T><<<blocks, threads, 0, stream>>>(a, b, c, M, K, N);
}
"""

CPP = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

at::Tensor times(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor a_row = a.contiguous(), b_row = b.contiguous(), c = at::empty({a.size(0), b.size(1)}, a.options());
  product(a_row, b_row, c, a.size(0), a.size(1), b.size(1));
  return c;
}

at::Tensor forward(const at::Tensor& a, const at::Tensor& b) {
  return times(a, b);
}

std::tuple<at::Tensor, at::Tensor> backward(
    const at::Tensor& d_c, const at::Tensor& a, const at::Tensor& b, std::array<bool, 2> wanted) {
  at::Tensor d_a, d_b;
  if (wanted[0]) d_a = times(d_c, b.t());
  if (wanted[1]) d_b = times(a.t(), d_c);
  return {d_a, d_b};
}
"""

KERNEL = Kernel("matmul_tiled/cuda", cpp=CPP, cuda=CUDA, params={"TILE": 16}, saves=("a", "b"), doc=__doc__ or "")
