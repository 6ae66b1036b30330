// A view is returned of which the last column was never written.
// x = torch.randn(4, 6)
// report: unwritten: 4 of the 24 elements of y have no value when \w+ returns, the first is y\[0\]\[5\]
__global__ void copy(const float* x, float* y, int columns) {
  if (threadIdx.x < columns - 1) y[blockIdx.x * 8 + threadIdx.x] = x[blockIdx.x * columns + threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({4, 8}, x.options());
  copy<<<4, 8>>>(x.data_ptr<float>(), y.data_ptr<float>(), 6);  // <-
  return y.slice(1, 0, 6);
}
