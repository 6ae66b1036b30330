// A lock that nobody has set: atomicExch gives what is there.
// x = torch.randn(64)
// report: uninitialised: memory of cudaMalloc\[0\] is read
__global__ void k(const float* x, float* y, int* lock) {
  if (threadIdx.x == 0) {
    while (atomicExch(lock, 1) != 0) {  // <-
    }
    *y = x[0];
    atomicExch(lock, 0);
  }
}
at::Tensor run(const at::Tensor& x) {
  int* lock;
  cudaMalloc(&lock, sizeof(int));
  auto y = torch::empty({1}, x.options());
  k<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), lock);
  cudaFree(lock);
  return y;
}
