// sectors 4.5: reads each number anew for each element of c, as the starter does
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

constexpr int TILE = 16;

// a[m][k] is a[m * K + k], b[k][n] is b[k * N + n], c[m][n] is c[m * N + n]
__global__ void product(const float* a, const float* b, float* c, int M, int K, int N) {
  const int m = blockIdx.y * TILE + threadIdx.y, n = blockIdx.x * TILE + threadIdx.x;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += a[m * K + k] * b[k * N + n];
  c[m * N + n] = sum;
}

at::Tensor forward(const at::Tensor& a, const at::Tensor& b) {
  const int M = a.size(0), K = a.size(1), N = b.size(1);
  const at::Tensor a_rows = a.contiguous(), b_rows = b.contiguous(), c = at::empty({M, N}, a.options());
  if (M == 0 || N == 0) return c;
  const dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), threads(TILE, TILE);
  product<<<blocks, threads>>>(
      a_rows.const_data_ptr<float>(), b_rows.const_data_ptr<float>(), c.mutable_data_ptr<float>(), M, K, N);
  return c;
}
