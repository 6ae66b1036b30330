// One launch reads what another one has written; memory comes from cudaMalloc.
// x = torch.randn(128)
// y = (2 * x).flip(0)
__global__ void first(const float* x, float* z) { z[threadIdx.x] = 2 * x[threadIdx.x]; }
__global__ void second(const float* z, float* y) { y[threadIdx.x] = z[127 - threadIdx.x]; }
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  float* z;
  cudaMalloc(&z, 128 * sizeof(float));
  first<<<1, 128>>>(x.data_ptr<float>(), z);
  second<<<1, 128>>>(z, y.data_ptr<float>());
  cudaDeviceSynchronize();
  cudaFree(z);
  return y;
}
