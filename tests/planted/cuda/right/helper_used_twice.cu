// The shared array of a helper is used again: its first barrier is enough.
// x = torch.randn(64)
// y = x.sum() + (x - x.sum()).sum() + 0 * x
__device__ float all_sum(float v) {
  __shared__ float parts[64];
  __shared__ float total;
  parts[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0;
    for (int i = 0; i < 64; i++) s += parts[i];
    total = s;
  }
  __syncthreads();
  return total;
}
__global__ void k(const float* x, float* y) {
  float a = all_sum(x[threadIdx.x]);
  float b = all_sum(x[threadIdx.x] - a);
  y[threadIdx.x] = a + b;
}
at::Tensor run(const at::Tensor& x) {
  auto y = torch::empty_like(x);
  k<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
