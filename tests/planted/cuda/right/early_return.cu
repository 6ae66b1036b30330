// The threads beyond the end leave at once.
// x = torch.randn(77)
// y = x.abs()
__device__ float magnitude(float v) { return v < 0 ? -v : v; }
__global__ void absolute(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = magnitude(__ldg(&x[i]));
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  absolute<<<(x.numel() + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), int(x.numel()));
  return y;
}
