// Each thread adds its left neighbour to itself, in one statement.
// x = torch.arange(1.0, 65.0)
// report: race: s\[\d+\] is .* Put __syncthreads\(\) between two iterations of the loop; where there is none, read into a variable
__global__ void neighbours(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x > 0) s[threadIdx.x] += s[threadIdx.x - 1];  // <-
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  neighbours<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
