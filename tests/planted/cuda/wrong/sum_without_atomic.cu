// All threads add to one number.
// x = torch.randn(64)
// report: race: y\[0\] is (read|written)
__global__ void sum(const float* x, float* y) {
  *y += x[threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({1}, x.options());
  sum<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
