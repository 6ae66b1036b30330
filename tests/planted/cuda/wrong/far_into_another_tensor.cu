// An index that is bytes where elements are meant: far behind the tensor.
// x = torch.randn(256)
// report: out of bounds: x\[\d+\], read .*x has 256
__global__ void k(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x * 400];  // <-
}
at::Tensor run(const at::Tensor& x) {
  auto y = at::zeros({256}, x.options());
  auto z = at::zeros({100000}, x.options());
  k<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
  k<<<1, 1>>>(z.data_ptr<float>(), z.data_ptr<float>());
  return y;
}
