// What a neighbour has stored is read without a barrier.
// x = torch.randn(128)
// report: (race: s\[|uninitialised: s\[).*read
__global__ void reverse(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[127 - threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  reverse<<<1, 128>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
