// A pointer that nobody has set.
// x = torch.randn(8)
// report: null pointer
__global__ void add(const float* x, const float* bias, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + bias[threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  add<<<1, 8>>>(x.data_ptr<float>(), nullptr, y.data_ptr<float>());
  return y;
}
