// Softmax of rows: maximum, sum, quotient, with dynamic shared memory.
// x = torch.randn(6, 45)
// y = x.softmax(1)
__global__ void softmax(const float* x, float* y, int columns) {
  extern __shared__ float part[];
  const float* row = x + blockIdx.x * columns;
  float most = -INFINITY;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, row[c]);
  part[threadIdx.x] = most;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  most = part[0];
  __syncthreads();
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(row[c] - most);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < columns; c += blockDim.x) y[blockIdx.x * columns + c] = __expf(row[c] - most) / part[0];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  softmax<<<x.size(0), 32, 32 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
