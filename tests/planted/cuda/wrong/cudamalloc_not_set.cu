// Memory of cudaMalloc that nobody has set.
// x = torch.randn(64)
// report: uninitialised: memory of cudaMalloc\[0\] is read
__global__ void k(const float* x, float* sum, float* y) {
  if (threadIdx.x == 0) *y = *sum + x[0];  // <-
}
at::Tensor run(const at::Tensor& x) {
  float* sum;
  cudaMalloc(&sum, sizeof(float));
  auto y = torch::empty({1}, x.options());
  k<<<1, 64>>>(x.data_ptr<float>(), sum, y.data_ptr<float>());
  cudaFree(sum);
  return y;
}
