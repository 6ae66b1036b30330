// A race through memcpy.
// x = torch.randn(64)
// report: race: s\[\d+\]
__global__ void k(const float* x, float* y) {
  __shared__ float s[64];
  memcpy(&s[threadIdx.x], &x[threadIdx.x], sizeof(float));  // <-
  float v = 0;
  if (threadIdx.x > 0) memcpy(&v, &s[threadIdx.x - 1], sizeof(float));  // <-
  y[threadIdx.x] = v;
}
at::Tensor run(const at::Tensor& x) {
  auto y = torch::empty_like(x);
  k<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
