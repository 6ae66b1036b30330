// A row too far in one of two tiles.
// x = torch.randn(8, 8)
// report: out of bounds: index 9 at line .*, in tile, an array of type 'float ?\[9\]\[8\]'\. Compare the index
__global__ void k(const float* x, float* y) {
  __shared__ float tile[9][8], other[9][8];
  const int i = threadIdx.x, j = threadIdx.y;
  tile[i][j] = other[i][j] = x[i * 8 + j];
  __syncthreads();
  y[i * 8 + j] = other[i][j] + (i == 7 ? tile[i + 2][j] : 0);  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  k<<<1, dim3(8, 8)>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
