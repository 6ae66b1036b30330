// A grid and blocks of three dimensions.
// x = torch.randn(5, 6, 7)
// y = x.permute(2, 1, 0)
__global__ void reverse_axes(const float* x, float* y, int3 size) {
  const int i = blockIdx.z * blockDim.z + threadIdx.z;
  const int j = blockIdx.y * blockDim.y + threadIdx.y;
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size.x && j < size.y && k < size.z) y[(k * size.y + j) * size.x + i] = x[(i * size.y + j) * size.z + k];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({7, 6, 5}, x.options());
  const dim3 block(4, 2, 2);
  const dim3 grid(2, 3, 3);
  reverse_axes<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), make_int3(5, 6, 7));
  return y;
}
