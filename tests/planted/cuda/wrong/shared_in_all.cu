// Three shared arrays, each of which a block has room for.
// x = torch.randn(8)
// report: too much shared memory: with c the shared arrays of a block have 61440 bytes, and a block has 49152
__global__ void fill(const float* x, float* y) {
  __shared__ float a[5120], b[5120], c[5120];
  a[threadIdx.x] = b[threadIdx.x] = c[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = a[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  fill<<<1, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());  // <-
  return y;
}
