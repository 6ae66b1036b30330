// Layer norm: a struct of two sums is shuffled member by member.
// x = torch.randn(7, 32)
// y = torch.nn.functional.layer_norm(x, (32,))
struct Moments {
  float sum, squares;
};
__device__ Moments all_of(Moments m) {
  for (int with = 16; with; with >>= 1) {
    m.sum += __shfl_xor_sync(~0u, m.sum, with);
    m.squares += __shfl_xor_sync(~0u, m.squares, with);
  }
  return m;
}
__global__ void normalise(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Moments m = all_of({x[i], x[i] * x[i]});
  const float mean = m.sum / 32, variance = m.squares / 32 - mean * mean;
  y[i] = (x[i] - mean) * rsqrtf(variance + 1e-5f);
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  normalise<<<7, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
