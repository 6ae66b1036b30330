// A thread allocates, sorts, frees.
// x = torch.randn(40, 5)
// y = x.sort(1)[0]
__global__ void sort_rows(const float* x, float* y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float* buf = (float*)malloc(n * sizeof(float));
  float* other = new float[n];
  memcpy(buf, x + r * n, n * sizeof(float));
  for (int i = 1; i < n; i++) {
    float v = buf[i];
    int j = i - 1;
    while (j >= 0 && buf[j] > v) { buf[j + 1] = buf[j]; j--; }
    buf[j + 1] = v;
  }
  for (int i = 0; i < n; i++) other[i] = buf[i];
  memcpy(y + r * n, other, n * sizeof(float));
  free(buf);
  delete[] other;
}
at::Tensor run(const at::Tensor& x) {
  auto y = at::empty_like(x);
  sort_rows<<<2, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), 40, 5);
  return y;
}
