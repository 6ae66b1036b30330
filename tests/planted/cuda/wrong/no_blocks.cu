// The size is rounded down to no block at all.
// x = torch.randn(100)
// report: impossible launch: the x size of the grid is 0
__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  copy<<<x.numel() / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>());  // <-
  return y;
}
