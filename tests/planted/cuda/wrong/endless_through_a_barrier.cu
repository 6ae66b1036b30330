// A loop through a barrier whose step becomes 0: nothing changes any more.
// x = torch.randn(64)
// report: endless: threads have waited 10\d\d times, last in __syncthreads at line \d+, and everything is as it was (the time|\d times) before\. See whether the loop can end
__global__ void total(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int step = 32; step >= 0; step /= 2) {
    if (step && threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();  // <-
  }
  y[threadIdx.x] = s[0];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  total<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
