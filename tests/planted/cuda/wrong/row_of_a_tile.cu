// An index beyond the row, within the array.
// x = torch.randn(16)
// report: out of bounds: index 4
__global__ void tile(const float* x, float* y) {
  __shared__ float t[4][4];
  t[threadIdx.x / 4][threadIdx.x % 4] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = t[threadIdx.x / 8][threadIdx.x % 8];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  tile<<<1, 16>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
