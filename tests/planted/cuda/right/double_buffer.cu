// A scan with two buffers that change places.
// x = torch.randn(256)
// y = x.cumsum(0)
__global__ void scan(const float* x, float* y) {
  __shared__ float buffer[2][256];
  int from = 0;
  buffer[from][threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    const float add = threadIdx.x >= step ? buffer[from][threadIdx.x - step] : 0;
    buffer[1 - from][threadIdx.x] = buffer[from][threadIdx.x] + add;
    from = 1 - from;
    __syncthreads();
  }
  y[threadIdx.x] = buffer[from][threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  scan<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
