// A __device__ counter without an atomic.
// x = torch.rand(64)
// report: race: hits(\[0\])? is
__device__ int hits = 0;
__global__ void count(const float* x) {
  if (x[threadIdx.x] >= 0) hits++;  // <-
}
at::Tensor run(const at::Tensor& x) {
  count<<<1, 64>>>(x.data_ptr<float>());
  int h;
  cudaMemcpyFromSymbol(&h, hits, sizeof h);
  return at::full({1}, h, x.options());
}
