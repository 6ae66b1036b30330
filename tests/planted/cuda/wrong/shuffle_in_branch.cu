// Half of a warp shuffles with a mask of all, the other half waits at a barrier.
// x = torch.randn(32)
// report: a shuffle .* waits for lanes that never come: lane \d+ waits in __syncthreads
__global__ void sum(const float* x, float* y) {
  float v = x[threadIdx.x];
  if (threadIdx.x < 16) v += __shfl_down_sync(0xffffffff, v, 8);  // <-
  __syncthreads();
  if (threadIdx.x == 0) *y = v;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({1}, x.options());
  sum<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
