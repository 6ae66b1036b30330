// The last block reads without the fence that would publish what the others wrote.
// x = torch.randn(8)
// report: race: part\[\d+\] is read
__device__ unsigned tickets = 0;
__global__ void sum(const float* x, float* part, float* y) {
  part[blockIdx.x] = x[blockIdx.x];
  if (atomicAdd(&tickets, 1u) == gridDim.x - 1) {
    float all = 0;
    for (int b = 0; b < gridDim.x; ++b) all += part[b];  // <-
    *y = all;
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor part = at::empty({8}, x.options()), y = at::empty({1}, x.options());
  sum<<<8, 1>>>(x.data_ptr<float>(), part.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
