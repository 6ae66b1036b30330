// The last block goes beyond the end.
// x = torch.randn(100)
// report: out of bounds: \w+\[100\], read .* has 100 elements
__global__ void twice(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2 * x[i];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  twice<<<4, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
