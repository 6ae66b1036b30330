// Rows have pointers of 64 bits; columns are few, and so are the elements of a bias.
// x = [torch.randn(r, c) for r, c in ((7, 5), (1, 9), (3, 40))]
// note: none
template <class T>
__global__ void k(const T* x, const T* bias, T* y, int rows, int cols) {
  const T* row = x + int64_t(blockIdx.x) * cols;
  __shared__ T first[2];
  first[threadIdx.x % 2] = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) y[int64_t(blockIdx.x) * cols + j] = row[j] + bias[j] + 0 * first[threadIdx.x % 2];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const at::Tensor bias = at::zeros({x.size(1)}, x.options());
  k<<<x.size(0), 32>>>(x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}
