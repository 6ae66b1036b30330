// cudaMemset gets the number of elements, and wants bytes.
// x = torch.randn(64)
// report: uninitialised: memory of cudaMalloc\[16\] is (read|changed)
__global__ void sums(const float* x, float* bins, float* y) {
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], x[threadIdx.x]);  // <-
  __syncthreads();
  y[threadIdx.x] = bins[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  float* bins = nullptr;
  cudaMalloc(&bins, 64 * sizeof(float));
  cudaMemset(bins, 0, 64);
  sums<<<1, 64>>>(x.data_ptr<float>(), bins, y.data_ptr<float>());
  cudaFree(bins);
  return y;
}
