// Memory is freed before the launch.
// x = torch.randn(4)
// report: freed: memory of cudaMalloc lies no longer where it is written
__global__ void k(const float* x, float* w) {
  w[threadIdx.x] = x[threadIdx.x];  // <-
}
at::Tensor run(const at::Tensor& x) {
  float* w;
  cudaMalloc(&w, 16000000);
  cudaFree(w);
  k<<<1, 4>>>(x.data_ptr<float>(), w + 1000000);
  return x;
}
