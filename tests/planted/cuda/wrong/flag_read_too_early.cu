// All threads raise the same flag, and some look at it before the others have.
// x = torch.ones(32)
// report: race: raised(\[0\])? is read
__global__ void any(const float* x, float* y) {
  __shared__ int raised;
  if (threadIdx.x == 0) raised = 0;
  __syncthreads();
  if (threadIdx.x % 2 == 0 && x[threadIdx.x] > 0) raised = 1;
  y[threadIdx.x] = raised;  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  any<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
