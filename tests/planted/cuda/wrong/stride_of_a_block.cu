// A grid-stride loop that steps by a block where several blocks run: elements are doubled twice.
// x = torch.randn(96)
// report: race: y\[\d+\] .* No barrier orders two blocks
__global__ void twice(float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) y[i] *= 2;  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = x.clone();
  twice<<<3, 32>>>(y.data_ptr<float>(), y.numel());
  return y;
}
