// A vector of the host is handed to a kernel.
// x = torch.randn(8)
// report: out of bounds: memory that belongs to no tensor
__global__ void add(const float* x, const float* bias, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + bias[threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  std::vector<float> bias(4000000, 1.f);
  at::Tensor y = at::empty_like(x);
  add<<<1, 8>>>(x.data_ptr<float>(), bias.data() + 2000000, y.data_ptr<float>());
  return y;
}
