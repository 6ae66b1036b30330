// The last element is left out.
// x = torch.randn(100)
// report: unwritten: 1 of the 100 elements of y .*the first is y\[99\].* Look at the condition
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1) y[i] = x[i];
}
at::Tensor run(const at::Tensor& x) {
  auto y = torch::empty_like(x);
  k<<<2, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 100);  // <-
  return y;
}
