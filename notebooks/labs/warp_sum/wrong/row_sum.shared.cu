// syncs 0: adds in shared memory, with barriers
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

// x[b][n] is x[b * N + n]; a block has 128 threads, 4 warps
__global__ void row_sum(const float* x, float* y, int B, int N) {
  __shared__ float parts[128];
  const int lane = threadIdx.x % 32, b = blockIdx.x * 4 + threadIdx.x / 32;
  float sum = 0;
  for (int n = lane; n < N && b < B; n += 32) sum += x[b * N + n];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int by = 16; by > 0; by /= 2) {
    if (lane < by) parts[threadIdx.x] += parts[threadIdx.x + by];
    __syncthreads();
  }
  if (lane == 0 && b < B) y[b] = parts[threadIdx.x];
}

at::Tensor forward(const at::Tensor& x) {
  const int B = x.size(0), N = x.size(1);
  const at::Tensor x_rows = x.contiguous(), y = at::empty({B}, x.options());
  if (B == 0) return y;
  row_sum<<<(B + 3) / 4, 128>>>(x_rows.const_data_ptr<float>(), y.mutable_data_ptr<float>(), B, N);
  return y;
}
