// More rows than the y axis of a grid takes.
// x = torch.randn(70000)
// report: impossible launch: the y size of the grid is 70000, and a GPU takes 1 to 65535\. Use the x axis for the longest extent
__global__ void copy(const float* x, float* y) { y[blockIdx.y] = x[blockIdx.y]; }
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  copy<<<dim3(1, x.numel()), 1>>>(x.data_ptr<float>(), y.data_ptr<float>());  // <-
  return y;
}
