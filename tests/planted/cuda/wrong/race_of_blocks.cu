// Two blocks write one place.
// x = torch.randn(64)
// report: race: y\[\d+\] is written .* of block \(1, 0, 0\), and written .* of block \(0, 0, 0\).* No barrier orders two blocks
__global__ void overlapping(const float* x, float* y) {
  y[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({32}, x.options());
  overlapping<<<2, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
