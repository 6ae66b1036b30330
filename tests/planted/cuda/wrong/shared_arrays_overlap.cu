// Two arrays in one piece of dynamic shared memory, the second begins too early.
// x = torch.randn(32)
// report: race: (a|s|b|all)\[\d+\] is
__global__ void both(const float* x, float* y, int n) {
  extern __shared__ float all[];
  float* const a = all;
  float* const b = all + n / 2;
  a[threadIdx.x] = x[threadIdx.x];  // <-
  b[n - 1 - threadIdx.x] = -x[threadIdx.x];  // <-
  __syncthreads();
  y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  both<<<1, 32, 2 * 32 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), 32);
  return y;
}
