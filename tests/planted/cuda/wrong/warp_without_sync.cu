// A warp counts on its lanes being in step.
// x = torch.randn(32)
// report: race: s\[\d+\] .* Put __syncwarp
__global__ void sum(const float* x, float* y) {
  __shared__ volatile float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  if (threadIdx.x < 16) s[threadIdx.x] += s[threadIdx.x + 16];
  if (threadIdx.x < 8) s[threadIdx.x] += s[threadIdx.x + 8];  // <-
  __syncwarp();
  if (threadIdx.x == 0) *y = s[0];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({1}, x.options());
  sum<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
