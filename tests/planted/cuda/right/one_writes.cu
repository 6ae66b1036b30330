// One thread writes what is one for the block; all add to another by an atomic.
// x = torch.arange(1.0, 65.0)
// y = torch.full((64,), 64.0 + 2080.0)
__global__ void sum(const float* x, float* y) {
  __shared__ float total, last;
  if (threadIdx.x == 0) total = 0;
  if (threadIdx.x == 63) last = x[threadIdx.x];
  __syncthreads();
  atomicAdd(&total, x[threadIdx.x]);
  __syncthreads();
  y[threadIdx.x] = total + last;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  sum<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
