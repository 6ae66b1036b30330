// Half of the warp waits for the other half, which waits elsewhere.
// x = torch.randn(32)
// report: (__syncwarp|a shuffle) .* waits for lanes that never come
__global__ void halves(const float* x, float* y) {
  float v = x[threadIdx.x];
  if (threadIdx.x < 16) {
    __syncwarp();  // <-
  } else {
    v = __shfl_xor_sync(0xffffffff, v, 1);  // <-
  }
  y[threadIdx.x] = v;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  halves<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
