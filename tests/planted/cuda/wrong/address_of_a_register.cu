// One thread publishes the address of its own variable, which no other thread may read.
// x = torch.randn(8)
// report: out of bounds: a local variable of another thread, read at line .* Hand the value over in shared memory
__global__ void share(const float* x, float* y) {
  __shared__ const float* best;
  const float own = x[threadIdx.x];
  if (threadIdx.x == 0) best = &own;
  __syncthreads();
  y[threadIdx.x] = *best;  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  share<<<1, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
