// The numbers that are positive, packed by an atomic counter: what is returned is a part of what was allocated.
// x = torch.randn(70)
// y = torch.stack([x[x > 0].sum(), x[x > 0].numel() + 0 * x[0]])
__global__ void keep(const float* x, float* kept, int* count, int n) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) {
    if (x[i] > 0) kept[atomicAdd(count, 1)] = x[i];
  }
}
at::Tensor kept(const at::Tensor& x) {
  at::Tensor all = at::empty_like(x), count = at::zeros({1}, x.options().dtype(at::kInt));
  keep<<<2, 16>>>(x.data_ptr<float>(), all.data_ptr<float>(), count.data_ptr<int>(), x.numel());
  return all.narrow(0, 0, count.item<int>());
}
at::Tensor run(const at::Tensor& x) {
  const at::Tensor some = kept(x);
  return at::stack({some.sum(), at::full({}, double(some.numel()), x.options())});
}
