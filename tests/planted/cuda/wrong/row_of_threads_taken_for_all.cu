// A block of two dimensions whose threads are told apart by x alone.
// x = torch.randn(16, 4)
// report: race: s\[\d+\] is written
__global__ void column_sums(const float* x, float* y) {
  __shared__ float s[4];
  s[threadIdx.x] = x[threadIdx.y * 4 + threadIdx.x];  // <-
  __syncthreads();
  if (threadIdx.y == 0) y[threadIdx.x] = s[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({4}, x.options());
  column_sums<<<1, dim3(4, 16)>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
