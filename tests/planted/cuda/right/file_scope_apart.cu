// Two shared arrays at file scope, each in a kernel of its own: no block has both.
// x = torch.randn(2, 7168)
// y = x.flip(1) + x.flip(0)
__shared__ float row[7168];
__global__ void backwards(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[blockIdx.x * n + i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = row[n - 1 - i];
}
__shared__ float other[7168];
__global__ void add_other_row(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) other[i] = x[(1 - blockIdx.x) * n + i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] += other[i];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  backwards<<<2, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  add_other_row<<<2, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
