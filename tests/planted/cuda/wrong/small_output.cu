// The output has fewer elements than are written.
// x = torch.randn(32)
// report: out of bounds: y\[31\], written .* has 31 elements
__global__ void copy(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({31}, x.options());
  copy<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
