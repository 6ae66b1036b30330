// A guard that lets one thread too many through.
// x = torch.randn(60)
// report: out of bounds: \w+\[60\]
__device__ float read(const float* from, int i) {
  return from[i];  // <-
}
__global__ void copy(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i <= n) y[i] = read(x, i);
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  copy<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 60);
  return y;
}
