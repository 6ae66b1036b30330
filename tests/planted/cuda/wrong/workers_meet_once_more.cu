// Loaders and workers run loops of their own, and one of them has a barrier more.
// x = torch.randn(128)
// report: divergent barrier: 32 of 64 threads wait in __syncthreads at line \d+, and 32 (at line \d+|have left)
__global__ void pipeline(const float* x, float* y, int tiles) {
  __shared__ float tile[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int t = 0; t < tiles; ++t) {
      tile[lane] = x[t * 32 + lane];
      __syncthreads();  // <-
    }
  } else {
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
      __syncthreads();  // <-
      sum += tile[lane];
      __syncthreads();  // <-
    }
    y[lane] = sum;
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({32}, x.options());
  pipeline<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 4);
  return y;
}
