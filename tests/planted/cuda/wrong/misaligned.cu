// A vector load from an odd element.
// x = torch.randn(33)
// report: misaligned: .*float4.* multiple of 16
__global__ void copy(const float* x, float* y) {
  const float4 v = reinterpret_cast<const float4*>(x + 1)[threadIdx.x];  // <-
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({8}, x.options());
  copy<<<1, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
