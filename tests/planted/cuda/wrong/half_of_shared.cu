// Half of the dynamic shared memory.
// x = torch.randn(128)
// report: out of bounds: buf\[\d+\], written .*has 64 elements
__global__ void k(const float* x, float* y) {
  extern __shared__ float buf[];
  buf[threadIdx.x] = x[threadIdx.x];  // <-
  __syncthreads();
  y[threadIdx.x] = buf[127 - threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  auto y = torch::empty_like(x);
  k<<<1, 128, 64 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
