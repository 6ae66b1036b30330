// The address of an element is computed in int as the element itself is.
// x = [torch.randn(r, c) for r, c in ((7, 5), (1, 9), (3, 40))]
// note: i \* cols \+ j, an index of y, is computed in int: wrong from 2,147,483,648 elements on; make it int64_t i
template <class T>
__global__ void k(const T* x, T* y, int rows, int cols) {
  const int i = blockIdx.x;
  if (i >= rows) return;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    *&y[i * cols + j] = x[(int64_t)i * cols + j];  // <-
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}
