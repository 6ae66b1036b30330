// An unsigned index counts down, and is never below zero.
// x = torch.randn(5)
// report: out of bounds: x\[-?\d+\], read
__global__ void suffix_sum(const float* x, float* y, unsigned n) {
  float sum = 0;
  for (unsigned i = n - 1; i >= 0; --i) {
    sum += x[i];  // <-
    y[i] = sum;
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  suffix_sum<<<1, 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
