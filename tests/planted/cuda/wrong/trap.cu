// The kernel ends itself, as it does not know what to do with a negative number.
// x = -torch.ones(8)
// report: __trap\(\) at planted/all:\d+\. Print the values that led there with printf
__global__ void roots(const float* x, float* y) {
  if (x[threadIdx.x] < 0) __trap();  // <-
  y[threadIdx.x] = sqrtf(x[threadIdx.x]);
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  roots<<<1, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
