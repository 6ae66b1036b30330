// The index of an element is an int.
// x = [torch.randn(n) for n in (97, 300, 33)]
// note: i, an index of x, is computed in int: wrong from 2,147,483,648 elements on; make it int64_t i
__global__ void k(const float* x, float* y, int64_t n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<x.numel() / 32 + 1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
