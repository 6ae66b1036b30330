// A bitonic sort within a block.
// x = torch.randn(128)
// y = x.sort()[0]
__global__ void bitonic(float* v) {
  __shared__ float s[128];
  unsigned tid = threadIdx.x;
  s[tid] = v[tid];
  for (unsigned k = 2; k <= 128; k <<= 1) {
    for (unsigned j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      unsigned ixj = tid ^ j;
      if (ixj > tid) {
        bool up = (tid & k) == 0;
        float a = s[tid], b = s[ixj];
        if ((a > b) == up) { s[tid] = b; s[ixj] = a; }
      }
    }
  }
  __syncthreads();
  v[tid] = s[tid];
}
at::Tensor run(const at::Tensor& x) {
  auto v = x.clone();
  bitonic<<<1, 128>>>(v.data_ptr<float>());
  return v;
}
