// Each thread writes the one maximum of its block.
// x = torch.arange(64.0)
// report: race: most(\[0\])? is written at line .* Let one thread write it, or use an atomic
__global__ void maximum(const float* x, float* y) {
  __shared__ float most;
  most = x[threadIdx.x];  // <-
  __syncthreads();
  y[threadIdx.x] = most;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  maximum<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
