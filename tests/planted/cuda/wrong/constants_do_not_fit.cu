// More numbers are copied than the constant array has, and nobody looks at what the call returns.
// x = torch.ones(8)
// report: cudaMemcpyToSymbol at planted/all:\d+ gives cudaErrorInvalidValue \(invalid argument\)\. Nobody has asked cudaGetLastError\(\) .* kernel
__constant__ float weight[4];
__global__ void scale(const float* x, float* y) { y[threadIdx.x] = weight[threadIdx.x % 4] * x[threadIdx.x]; }
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  cudaMemcpyToSymbol(weight, x.data_ptr<float>(), 8 * sizeof(float));  // <-
  scale<<<1, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
