// More than 48 KiB of dynamic shared memory, for which the kernel has not asked.
// x = torch.randn(8)
// report: impossible launch: the dynamic shared memory is 65536 bytes, and a kernel gets 49152 unless cudaFuncSetAttribute.* has asked for more\. Call that before the launch
__global__ void fill(const float* x, float* y) {
  extern __shared__ float s[];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[threadIdx.x];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  fill<<<1, 8, 65536>>>(x.data_ptr<float>(), y.data_ptr<float>());  // <-
  return y;
}
