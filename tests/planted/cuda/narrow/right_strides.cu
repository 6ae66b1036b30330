// A loop of 64 bits begins where 32 are enough.
// x = [torch.randn(n) for n in (97, 300, 33)]
// note: none
__global__ void k(const float* x, float* y, int64_t n) {
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += int64_t(gridDim.x) * blockDim.x) y[i] = x[i];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<2, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
