// A host array as an argument.
// x = torch.randn(4)
// report: out of bounds: memory that belongs to no tensor
__global__ void k(const float* x, const float* w, float* y) {
  y[threadIdx.x] = x[threadIdx.x] * w[threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  auto y = torch::empty_like(x);
  float* w = (float*)malloc(4000000);
  k<<<1, 4>>>(x.data_ptr<float>(), w + 500000, y.data_ptr<float>());
  free(w);
  return y;
}
