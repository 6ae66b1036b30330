// Threads write neighbouring bytes.
// x = torch.randn(64)
// y = (x > 0).float()
__global__ void flags(const float* x, float* y) {
  __shared__ unsigned char positive[64];
  positive[threadIdx.x] = x[threadIdx.x] > 0;
  __syncthreads();
  y[63 - threadIdx.x] = positive[63 - threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  flags<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
