// A variable of 64 bits begins small and grows.
// x = [torch.randn(n) for n in (97, 300, 33)]
// note: none
__global__ void k(const float* x, float* y, int64_t n) {
  int64_t i = threadIdx.x;
  while (i < n) {
    y[i] = x[i];
    i += blockDim.x;
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
