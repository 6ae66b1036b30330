// Memory is written first by an atomicExch whose result nobody takes, and two pointers change places whatever their type is.
// x = torch.randn(64)
// y = x * 2
#define CHANGE(a, b) do { __typeof__(a) c = a; a = b; b = c; } while (0)
__device__ void put(float* at, float value) { atomicExch(at, value); }
__global__ void twice(const float* x, float* y, int n) {
  __shared__ float two;
  if (threadIdx.x == 0) atomicExch(&two, 2);
  __syncthreads();
  if (threadIdx.x < n) put(&y[threadIdx.x], two * x[threadIdx.x]);
}
at::Tensor run(const at::Tensor& x) {
  float *here, *there;
  cudaMalloc(&here, x.nbytes());
  cudaMalloc(&there, x.nbytes());
  twice<<<1, 128>>>(x.data_ptr<float>(), here, x.numel());
  CHANGE(here, there);
  auto y = torch::empty_like(x);
  cudaMemcpy(y.data_ptr<float>(), there, x.nbytes(), cudaMemcpyDeviceToDevice);
  cudaFree(here);
  cudaFree(there);
  return y;
}
