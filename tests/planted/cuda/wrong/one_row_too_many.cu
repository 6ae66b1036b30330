// The last row of a sparse matrix has no end behind it: the array of beginnings is one too short.
// x = torch.randn(8)
// report: out of bounds: first\[8\], read .*first has 8 elements
__global__ void lengths(const int* first, float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) y[row] = first[row + 1] - first[row];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor first = at::arange(8, x.options().dtype(at::kInt)), y = at::empty_like(x);
  lengths<<<1, 8>>>(first.data_ptr<int>(), y.data_ptr<float>(), 8);
  return y;
}
