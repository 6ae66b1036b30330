// Each thread adds to the one sum of its block.
// x = torch.arange(1.0, 65.0)
// report: race: total(\[0\])? is (read|written) at line .* Let one thread write it, or use an atomic: atomicAdd, for a sum
__global__ void sum(const float* x, float* y) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  total += x[threadIdx.x];  // <-
  __syncthreads();
  y[threadIdx.x] = total;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  sum<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
