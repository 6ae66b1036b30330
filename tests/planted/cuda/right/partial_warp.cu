// The lanes of a ballot shuffle among themselves.
// x = torch.randn(40)
// y = x.max().reshape(1)
__global__ void most(const float* x, float* y, int n) {
  __shared__ float of_warp[2];
  const unsigned mask = __ballot_sync(0xffffffff, threadIdx.x < n);
  if (threadIdx.x < n) {
    float v = x[threadIdx.x];
    const int in_warp = threadIdx.x % 32, lanes = __popc(mask);
    for (int d = 16; d; d /= 2) {
      const float other = __shfl_down_sync(mask, v, d);
      if (in_warp + d < lanes) v = fmaxf(v, other);
    }
    if (in_warp == 0) of_warp[threadIdx.x / 32] = v;
  }
  __syncthreads();
  if (threadIdx.x == 0) *y = max(of_warp[0], of_warp[1]);
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({1}, x.options());
  most<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 40);
  return y;
}
