// Integers of 32 and 64 bits: a generator in registers, a reversal of bits, a hash.
// x = torch.zeros(40)
// y = torch.tensor([float(int(f"{(i * 1664525 + 1013904223) % 2**32:032b}"[::-1], 2) >> 20) for i in range(40)])
__host__ __device__ constexpr unsigned next(unsigned state) { return state * 1664525u + 1013904223u; }
__global__ void draw(float* y, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const unsigned v = __brev(next(i));
    y[i] = static_cast<float>(v >> 20);
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = torch::empty_like(x);
  draw<<<3, 5>>>(y.data_ptr<float>(), static_cast<unsigned>(x.numel()));
  return y;
}
