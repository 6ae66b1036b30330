// Each element of a tile, and one row at its border.
// x = torch.randn(8, 8)
// y = x + torch.cat([x[1:], x[:1]])
__global__ void k(const float* x, float* y) {
  __shared__ float tile[9][8];
  const int i = threadIdx.x, j = threadIdx.y;
  tile[i][j] = x[i * 8 + j];
  if (i == 0) tile[8][j] = x[j];
  __syncthreads();
  y[i * 8 + j] = tile[i][j] + tile[i + 1][j];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<1, dim3(8, 8)>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
