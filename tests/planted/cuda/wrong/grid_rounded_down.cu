// n / threads blocks: the rest has no thread.
// x = torch.randn(100)
// report: unwritten: 36 of the 100 elements of y have no value when \w+ returns, the first is y\[64\].* of 64 threads\. There must be a thread for every element
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
at::Tensor run(const at::Tensor& x) {
  auto y = torch::empty_like(x);
  k<<<100 / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 100);  // <-
  return y;
}
