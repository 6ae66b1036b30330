// The mask of a shuffle names half of the lanes that call it.
// x = torch.randn(32)
// report: a shuffle .* has a mask without lane 16
__global__ void sum(const float* x, float* y) {
  float v = x[threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffff, v, d);  // <-
  if (threadIdx.x == 0) *y = v;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({1}, x.options());
  sum<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
