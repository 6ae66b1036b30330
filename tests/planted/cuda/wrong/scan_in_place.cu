// A scan in one buffer, where a barrier between loads and stores is missing.
// x = torch.randn(64)
// report: race: s\[\d+\]
__global__ void scan(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    if (threadIdx.x >= d) s[threadIdx.x] += s[threadIdx.x - d];  // <-
    __syncthreads();
  }
  y[threadIdx.x] = s[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  scan<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
