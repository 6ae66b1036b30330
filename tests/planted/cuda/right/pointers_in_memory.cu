// A table of pointers that lies in memory of the device.
// x = torch.randn(4, 8)
// y = 2 * x
__global__ void twice(float** rows, float* const* out, int n) { out[blockIdx.x][threadIdx.x] = 2 * rows[blockIdx.x][threadIdx.x]; }
at::Tensor run(const at::Tensor& x) {
  auto y = at::empty_like(x);
  float* host[8];
  for (int i = 0; i < 4; ++i) host[i] = x.data_ptr<float>() + 8 * i, host[4 + i] = y.data_ptr<float>() + 8 * i;
  float** table;
  cudaMalloc((void**)&table, sizeof host);
  cudaMemcpy(table, host, sizeof host, cudaMemcpyHostToDevice);
  twice<<<4, 8>>>(table, table + 4, 8);
  cudaFree(table);
  return y;
}
