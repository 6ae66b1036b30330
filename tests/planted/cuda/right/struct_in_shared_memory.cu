// An array of structs in shared memory.
// x = torch.randn(48)
// y = x + x.flip(0)
struct Pair {
  float own;
  char note;
  float other;
};
__global__ void pairs(const float* x, float* y, int n) {
  __shared__ Pair pair[48];
  pair[threadIdx.x].own = x[threadIdx.x];
  pair[n - 1 - threadIdx.x].other = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = pair[threadIdx.x].own + pair[threadIdx.x].other;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  pairs<<<1, 48>>>(x.data_ptr<float>(), y.data_ptr<float>(), 48);
  return y;
}
