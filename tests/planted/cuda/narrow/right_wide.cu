// The index has 64 bits from its first product on.
// x = [torch.randn(n) for n in (97, 300, 33)]
// note: none
__global__ void k(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<x.numel() / 32 + 1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
