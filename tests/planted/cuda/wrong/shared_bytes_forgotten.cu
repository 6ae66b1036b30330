// The launch counts elements where bytes are wanted.
// x = torch.randn(64)
// report: out of bounds: s\[16\], written .* dynamic shared array s has 16 elements\. The launch says how many bytes
__global__ void reverse(const float* x, float* y) {
  extern __shared__ float s[];
  s[threadIdx.x] = x[threadIdx.x];  // <-
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  reverse<<<1, 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
