// A grid of three dimensions has too many threads in a block.
// x = torch.randn(8)
// report: impossible launch: the number of threads in a block is 2048
__global__ void fill(float* y) { y[threadIdx.x] = 1; }
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  fill<<<1, dim3(32, 32, 2)>>>(y.data_ptr<float>());  // <-
  return y;
}
