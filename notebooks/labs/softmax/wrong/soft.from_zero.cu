// parity: its maximum begins at 100, and where all numbers are far below that the shares are 0 / 0
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

// x[b][n] is x[b * N + n]; a block has 128 threads, 4 warps
__global__ void soft(const float* x, float* y, int B, int N) {
  const int lane = threadIdx.x % 32, b = blockIdx.x * 4 + threadIdx.x / 32;
  if (b >= B) return;
  float most = 100, sum = 0;
  for (int n = lane; n < N; n += 32) most = max(most, x[b * N + n]);
  for (int with = 16; with > 0; with /= 2) most = max(most, __shfl_xor_sync(0xffffffffu, most, with));
  for (int n = lane; n < N; n += 32) sum += expf(x[b * N + n] - most);
  for (int with = 16; with > 0; with /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, with);
  for (int n = lane; n < N; n += 32) y[b * N + n] = expf(x[b * N + n] - most) / sum;
}

at::Tensor forward(const at::Tensor& x) {
  const int B = x.size(0), N = x.size(1);
  const at::Tensor x_rows = x.contiguous(), y = at::empty({B, N}, x.options());
  if (B == 0 || N == 0) return y;
  soft<<<(B + 3) / 4, 128>>>(x_rows.const_data_ptr<float>(), y.mutable_data_ptr<float>(), B, N);
  return y;
}
