// Threads leave before the barrier.
// x = torch.randn(50)
// report: divergent barrier: 50 of 64 threads wait .* 14 have left
__global__ void reverse(const float* x, float* y, int n) {
  __shared__ float s[64];
  if (threadIdx.x >= n) return;
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();  // <-
  y[threadIdx.x] = s[n - 1 - threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  reverse<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 50);
  return y;
}
