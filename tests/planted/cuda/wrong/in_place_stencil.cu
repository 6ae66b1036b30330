// A stencil that reads its neighbours from where it writes.
// x = torch.randn(32)
// report: race: y\[\d+\]
__global__ void smooth(float* y, int n) {
  const int i = threadIdx.x;
  if (i > 0 && i < n - 1) y[i] = (y[i - 1] + y[i] + y[i + 1]) / 3;  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = x.clone();
  smooth<<<1, 32>>>(y.data_ptr<float>(), 32);
  return y;
}
