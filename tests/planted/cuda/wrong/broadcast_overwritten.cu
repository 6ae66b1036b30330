// A place in shared memory that is used twice to tell all threads a number: one barrier is missing between the two.
// x = torch.randn(64)
// report: race: all(\[0\])? is (read|written) .* Put __syncthreads\(\) between them, where all threads of the block come by; __syncwarp\(\) is enough
__device__ float tell(float v) {
  __shared__ float all;
  if (threadIdx.x == 0) all = v;  // <-
  __syncthreads();
  return all;  // <-
}
__global__ void between(const float* x, float* y) {
  const float low = tell(x[0]), high = tell(x[1]);
  y[threadIdx.x] = fminf(fmaxf(x[threadIdx.x], low), high);
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  between<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
