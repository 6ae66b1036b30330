// A sum that begins with what lies in shared memory.
// x = torch.randn(64)
// report: uninitialised: sum\[0\]
__global__ void add(const float* x, float* y) {
  __shared__ float sum;
  atomicAdd(&sum, x[threadIdx.x]);  // <-
  __syncthreads();
  if (threadIdx.x == 0) *y = sum;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({1}, x.options());
  add<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
