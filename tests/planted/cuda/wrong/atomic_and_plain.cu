// A count that is read while others still count.
// x = torch.rand(64)
// report: race: count\[0\] is (read|changed by an atomic)
__global__ void counts(const float* x, float* y) {
  __shared__ int count[1];
  if (threadIdx.x == 0) count[0] = 0;
  __syncthreads();
  if (x[threadIdx.x] >= 0) atomicAdd(&count[0], 1);  // <-
  y[threadIdx.x] = count[0];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  counts<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
