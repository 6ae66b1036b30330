// The first thread looks to its left.
// x = torch.randn(32)
// report: out of bounds: x\[-1\], read
__global__ void difference(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] - *(x + threadIdx.x - 1);  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  difference<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
