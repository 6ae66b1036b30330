// More threads than a block can have, and nobody asks.
// x = torch.randn(2048)
// report: impossible launch: the number of threads in a block is 2048, and a GPU takes 1 to 1024\. Launch more blocks, of fewer threads
__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  copy<<<1, 2048>>>(x.data_ptr<float>(), y.data_ptr<float>());  // <-
  return y;
}
