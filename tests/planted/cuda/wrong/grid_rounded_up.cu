// A template whose guard compares with the wrong size.
// x = torch.randn(70)
// report: out of bounds: x\[70\]
template <class T>
__global__ void square(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < gridDim.x * blockDim.x) y[i] = x[i] * x[i];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({96}, x.options());
  square<float><<<3, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), 70);
  return y;
}
