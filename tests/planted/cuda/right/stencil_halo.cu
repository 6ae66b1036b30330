// A stencil of three with a halo at both ends of the tile.
// x = torch.randn(200)
// y = torch.nn.functional.pad(x, (1, 0))[:-1] + x + torch.nn.functional.pad(x, (0, 1))[1:]
__global__ void stencil(const float* x, float* y, int n) {
  __shared__ float tile[64 + 2];
  const int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + 1;
  tile[t] = i < n ? x[i] : 0;
  if (threadIdx.x == 0) tile[0] = i > 0 ? x[i - 1] : 0;
  if (threadIdx.x == 63) tile[65] = i + 1 < n ? x[i + 1] : 0;
  __syncthreads();
  if (i < n) y[i] = tile[t - 1] + tile[t] + tile[t + 1];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  stencil<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
