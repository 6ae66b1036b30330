// Where a row begins is computed in 32 bits.
// x = [torch.randn(r, c) for r, c in ((7, 5), (1, 9), (3, 40))]
// note: blockIdx\.x \* cols, an index of x, is computed in unsigned int: wrong where the last row begins at element 4,294,967,296 or later; make it int64_t\(blockIdx\.x\)
template <class T>
__global__ void k(const T* x, T* y, int rows, int cols) {
  const int i = blockIdx.x;
  if (i >= rows) return;
  const T* row = x + blockIdx.x * cols;  // <-
  for (int j = threadIdx.x; j < cols; j += blockDim.x) y[int64_t(i) * cols + j] = row[j];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}
