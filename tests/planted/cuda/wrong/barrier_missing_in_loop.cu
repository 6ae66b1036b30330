// The loop of a reduction without its barrier.
// x = torch.randn(64)
// report: race: s\[\d+\] is .* thread \(\d+, 0, 0\) of block .* Put __sync
__global__ void sum(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];  // <-
  }
  if (threadIdx.x == 0) *y = s[0];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({1}, x.options());
  sum<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
