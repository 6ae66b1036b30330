// A block that is too deep.
// x = torch.randn(8)
// report: impossible launch: the z size of a block is 128
__global__ void fill(float* y) { *y = 1; }
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  fill<<<1, dim3(1, 1, 128)>>>(y.data_ptr<float>());  // <-
  return y;
}
