// The second barrier of the tile's loop is missing: the next tile overwrites what others still read.
// x = torch.randn(64)
// report: race: s\[\d+\] is (written|read)
__global__ void sums(const float* x, float* y) {
  __shared__ float s[32];
  float sum = 0;
  for (int k = 0; k < 64; k += 32) {
    s[threadIdx.x] = x[k + threadIdx.x];  // <-
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += s[i];  // <-
  }
  y[threadIdx.x] = sum;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({32}, x.options());
  sums<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
