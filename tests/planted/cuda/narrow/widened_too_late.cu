// A product of 32 bits goes into a variable of 64.
// x = [torch.randn(n) for n in (97, 300, 33)]
// note: blockIdx\.x \* blockDim\.x \+ threadIdx\.x, an index of x, is computed in unsigned int: wrong from 4,294,967,296 elements on; make it int64_t\(blockIdx\.x\)
__global__ void k(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<x.numel() / 32 + 1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
