// A tile is not filled where the matrix ends.
// x = torch.randn(10, 10)
// report: uninitialised: s\[\d+\]\[\d+\] .* is read
__global__ void k(const float* x, float* y, int n) {
  __shared__ float s[8][8];
  int r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * 8 + threadIdx.x;
  if (r < n && c < n) s[threadIdx.y][threadIdx.x] = x[r * n + c];
  __syncthreads();
  float t = 0;
  for (int i = 0; i < 8; ++i) t += s[threadIdx.y][i];  // <-
  if (r < n && c < n) y[r * n + c] = t;
}
at::Tensor run(const at::Tensor& x) {
  auto y = torch::empty_like(x);
  k<<<dim3(2, 2), dim3(8, 8)>>>(x.data_ptr<float>(), y.data_ptr<float>(), 10);
  return y;
}
