// A loop through a barrier that counts down and never gets below 0.
// x = torch.zeros(1024)
// report: endless: threads have waited 131072 times, last in __syncthreads at line \d+\. See whether the loop can end
__global__ void waits(float* y) {
  for (unsigned i = 100; i >= 0; --i) {
    y[threadIdx.x] = i;
    __syncthreads();  // <-
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  waits<<<1, 1024>>>(y.data_ptr<float>());
  return y;
}
