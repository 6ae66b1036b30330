// An array of the thread's own that is too small.
// x = torch.randn(32)
// report: out of bounds: index 3
__global__ void sum(const float* x, float* y, int n) {
  float own[3] = {0, 0, 0};
  for (int i = 0; i < n; ++i) own[i] += x[threadIdx.x];  // <-
  y[threadIdx.x] = own[0] + own[1];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  sum<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), 5);
  return y;
}
