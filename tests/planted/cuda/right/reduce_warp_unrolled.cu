// The last warp of a tree without the block's barrier.
// x = torch.randn(256)
// y = x.sum()[None]
template <unsigned int blockSize>
__device__ void warpReduce(volatile float* sdata, unsigned int tid) {
  float v = sdata[tid];
  if (blockSize >= 64) { v += sdata[tid + 32]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
  v += sdata[tid + 16]; __syncwarp(); sdata[tid] = v; __syncwarp();
  v += sdata[tid + 8]; __syncwarp(); sdata[tid] = v; __syncwarp();
  v += sdata[tid + 4]; __syncwarp(); sdata[tid] = v; __syncwarp();
  v += sdata[tid + 2]; __syncwarp(); sdata[tid] = v; __syncwarp();
  v += sdata[tid + 1]; __syncwarp(); sdata[tid] = v;
}
template <unsigned int blockSize>
__global__ void reduce5(const float* in, float* out) {
  __shared__ float sdata[blockSize + 32];
  unsigned tid = threadIdx.x;
  sdata[tid] = in[tid];
  if (tid < 32) sdata[blockSize + tid] = 0;
  __syncthreads();
  if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
  if (blockSize >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
  if (tid < 32) warpReduce<blockSize>(sdata, tid);
  if (tid == 0) out[0] = sdata[0];
}
at::Tensor run(const at::Tensor& x) {
  auto out = at::empty({1}, x.options());
  reduce5<256><<<1, 256>>>(x.data_ptr<float>(), out.data_ptr<float>());
  return out;
}
