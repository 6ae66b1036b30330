// Lanes that have left are in the mask.
// x = torch.randn(20)
// report: a shuffle .* reads from lane \d+, which has left the kernel
__global__ void sum(const float* x, float* y, int n) {
  if (threadIdx.x >= n) return;
  float v = x[threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);  // <-
  if (threadIdx.x == 0) *y = v;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({1}, x.options());
  sum<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), 20);
  return y;
}
