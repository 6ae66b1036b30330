// Bytes are forgotten in cudaMalloc.
// x = torch.randn(64)
// report: out of bounds: memory of cudaMalloc\[16\], written
__global__ void copy(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  float* y;
  cudaMalloc(&y, 64);
  copy<<<1, 64>>>(x.data_ptr<float>(), y);
  cudaFree(y);
  return x;
}
