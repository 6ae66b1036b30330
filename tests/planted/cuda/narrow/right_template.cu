// The type of the index is an argument of the template, and it is the wide one.
// x = [torch.randn(n) for n in (97, 300, 33)]
// note: none
template <class index_t>
__device__ index_t own() { return index_t(blockIdx.x) * blockDim.x + threadIdx.x; }
template <class index_t>
__global__ void k(const float* x, float* y, index_t n) {
  const index_t i = own<index_t>();
  if (i < n) y[i] = x[i];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<int64_t><<<x.numel() / 32 + 1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
