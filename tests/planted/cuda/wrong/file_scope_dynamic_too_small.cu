// Dynamic shared memory at file scope, and half of the bytes that it takes.
// x = torch.randn(96)
// report: out of bounds: pool\[48\], written .*; dynamic shared array pool has 48 elements\. The launch says how many bytes
extern __shared__ float pool[];
__global__ void reverse(const float* d, float* out, int n) {
  pool[threadIdx.x] = d[threadIdx.x];  // <-
  __syncthreads();
  out[threadIdx.x] = pool[n - threadIdx.x - 1];
}
at::Tensor run(const at::Tensor& x) {
  auto out = at::empty_like(x);
  reverse<<<1, 96, 48 * sizeof(float)>>>(x.data_ptr<float>(), out.data_ptr<float>(), 96);
  return out;
}
