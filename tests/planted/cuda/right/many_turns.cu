// A loop through two barriers that ends after many turns, of which some change nothing.
// x = torch.zeros(64)
// y = x + 3000
__global__ void waits(float* y) {
  __shared__ int turns;
  if (threadIdx.x == 0) turns = 0;
  __syncthreads();
  while (true) {
    if (threadIdx.x == 0 && turns < 3000) ++turns;
    __syncthreads();
    const bool ends = turns == 3000;
    __syncthreads();
    if (ends) break;
  }
  for (int i = 0; i < 5; ++i) __syncthreads();
  y[threadIdx.x] = turns;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  waits<<<1, 64>>>(y.data_ptr<float>());
  return y;
}
