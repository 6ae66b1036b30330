// A loop through a barrier that counts down and never gets below 0.
// x = torch.zeros(1024)
// report: endless: threads have waited 2048 times, last in __syncthreads at line \d+\. See whether the loop can end
__global__ void waits(float* y) {
  for (unsigned i = 100; i >= 0; --i) {
    y[threadIdx.x] = i;
    __syncthreads();  // <-
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  struct Fewer {  // for the test, as so many waits take long
    const uint64_t most = std::exchange(::cuda_cpu::most_waits, uint64_t(1) << 21);
    ~Fewer() { ::cuda_cpu::most_waits = most; }
  } fewer;
  waits<<<1, 1024>>>(y.data_ptr<float>());
  return y;
}
