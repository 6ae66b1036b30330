// Each thread takes four elements, and the blocks are rounded down.
// x = torch.randn(600)
// report: unwritten: 88 of the 600 elements of y have no value .* the first is y\[512\].* of 128 threads\. A thread takes several elements: look at how many
__global__ void k(const float* x, float* y, int n) {
  const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = first; i < first + 4 && i < n; ++i) y[i] = x[i];
}
at::Tensor run(const at::Tensor& x) {
  auto y = torch::empty_like(x);
  k<<<600 / 256, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 600);  // <-
  return y;
}
