// Softmax in one pass, one warp a row.
// x = torch.randn(7, 50)
// y = x.softmax(1)
__global__ void softmax(const float* x, float* y, int C) {
  const float* row = x + blockIdx.x * C;
  float maxval = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < C; i += 32) {
    float v = row[i], bigger = fmaxf(maxval, v);
    sum = sum * expf(maxval - bigger) + expf(v - bigger);
    maxval = bigger;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    float m = __shfl_xor_sync(0xFFFFFFFF, maxval, offset), s = __shfl_xor_sync(0xFFFFFFFF, sum, offset);
    float bigger = fmaxf(maxval, m);
    sum = sum * expf(maxval - bigger) + s * expf(m - bigger);
    maxval = bigger;
  }
  for (int i = threadIdx.x; i < C; i += 32) y[blockIdx.x * C + i] = expf(row[i] - maxval) / sum;
}
at::Tensor run(const at::Tensor& x) {
  auto y = at::empty_like(x);
  softmax<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
