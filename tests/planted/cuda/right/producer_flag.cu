// A block waits for another one by a flag and a fence.
// x = torch.randn(32)
// y = x + 1
__device__ volatile int ready = 0;
__global__ void chain(const float* x, float* tmp, float* y, int* ticket) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
  __syncthreads();
  if (mine == 0) {
    tmp[threadIdx.x] = x[threadIdx.x] + 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(ticket + 1, 1);
  } else if (mine == 1) {
    if (threadIdx.x == 0) while (atomicAdd(ticket + 1, 0) == 0) {}
    __syncthreads();
    __threadfence();
    y[threadIdx.x] = tmp[threadIdx.x];
  }
}
at::Tensor run(const at::Tensor& x) {
  auto tmp = at::empty_like(x), y = at::empty_like(x), ticket = at::zeros({2}, x.options().dtype(at::kInt));
  chain<<<2, 32>>>(x.data_ptr<float>(), tmp.data_ptr<float>(), y.data_ptr<float>(), ticket.data_ptr<int>());
  return y;
}
