// A barrier in a branch that all threads of a block take alike.
// x = torch.randn(64)
// y = torch.cat([x[:32].flip(0), x[32:]])
__global__ void first_block_reverses(const float* x, float* y) {
  __shared__ float s[32];
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (blockIdx.x == 0) {
    s[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = s[31 - threadIdx.x];
  } else {
    y[i] = x[i];
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  first_block_reverses<<<2, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
