// An exclusive scan, up and down the tree.
// x = torch.randn(64)
// y = x.cumsum(0) - x
__global__ void exclusive(const float* x, float* y, int n) {
  extern __shared__ float t[];
  const int i = threadIdx.x;
  t[2 * i] = x[2 * i];
  t[2 * i + 1] = x[2 * i + 1];
  int step = 1;
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (i < d) t[step * (2 * i + 2) - 1] += t[step * (2 * i + 1) - 1];
    step *= 2;
  }
  if (i == 0) t[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    step >>= 1;
    __syncthreads();
    if (i < d) {
      const int a = step * (2 * i + 1) - 1, b = step * (2 * i + 2) - 1;
      const float left = t[a];
      t[a] = t[b];
      t[b] += left;
    }
  }
  __syncthreads();
  y[2 * i] = t[2 * i];
  y[2 * i + 1] = t[2 * i + 1];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  exclusive<<<1, 32, 64 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), 64);
  return y;
}
