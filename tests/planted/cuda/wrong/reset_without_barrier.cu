// A count is set to zero by one thread while others already add.
// x = torch.rand(64)
// report: (race: count\[0\]|uninitialised: count\[0\])
__global__ void counts(const float* x, float* y) {
  __shared__ int count[1];
  if (threadIdx.x == 0) count[0] = 0;
  if (x[threadIdx.x] >= 0) atomicAdd(&count[0], 1);  // <-
  __syncthreads();
  y[threadIdx.x] = count[0];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  counts<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
