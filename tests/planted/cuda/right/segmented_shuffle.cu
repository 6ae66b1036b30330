// Sums of eight lanes, with the width of a shuffle.
// x = torch.randn(64)
// y = x.view(8, 8).sum(1)
__global__ void eights(const float* x, float* y) {
  float v = x[threadIdx.x];
  for (int d = 4; d; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d, 8);
  if (threadIdx.x % 8 == 0) y[threadIdx.x / 8] = v;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({8}, x.options());
  eights<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
