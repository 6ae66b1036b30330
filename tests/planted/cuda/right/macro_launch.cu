// A launch within a macro that goes over lines.
// x = torch.randn(90)
// y = -x
#define BLOCKS_FOR(n) (((n) + 31) / 32)
#define RUN(kernel, ...)                          \
  do {                                            \
    kernel<<<BLOCKS_FOR(90), 32>>>(__VA_ARGS__);  \
  } while (0)
__global__ void negate(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = -x[i];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  RUN(negate, x.data_ptr<float>(), y.data_ptr<float>(), 90);
  return y;
}
