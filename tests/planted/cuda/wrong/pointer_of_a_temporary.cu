// The pointer outlives the tensor that it was taken from.
// x = torch.randn(1000)
// report: freed: \(x\*2\) lies no longer where it is read
__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }  // <-
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({8}, x.options());
  const float* const doubled = (x * 2).data_ptr<float>();
  copy<<<1, 8>>>(doubled, y.data_ptr<float>());
  return y;
}
