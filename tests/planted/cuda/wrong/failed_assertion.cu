// The kernel's own assertion.
// x = torch.randn(8)
// report: assertion failed: n % 32 == 0 at planted/all:\d+\. Print the values that led there with printf
__global__ void copy(const float* x, float* y, int n) {
  assert(n % 32 == 0);  // <-
  y[threadIdx.x] = x[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  copy<<<1, 8>>>(x.data_ptr<float>(), y.data_ptr<float>(), 8);
  return y;
}
