// A shared array with fewer elements than threads.
// x = torch.randn(64)
// report: out of bounds: index 48
__global__ void reverse(const float* x, float* y) {
  __shared__ float s[48];
  s[threadIdx.x] = x[threadIdx.x];  // <-
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  reverse<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
