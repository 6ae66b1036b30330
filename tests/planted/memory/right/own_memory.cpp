// Memory of all kinds, used as it may be.
// x = torch.rand(33)
// y = x * 2
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  const int64_t n = x.numel();
  float* a = static_cast<float*>(malloc(n * sizeof(float)));
  float* b = static_cast<float*>(calloc(n, sizeof(float)));
  float* c = new float[n]();
  std::vector<float> d;
  for (int64_t i = 0; i < n; ++i) a[i] = p[i], b[i] += p[i], c[i] += p[i], d.push_back(p[i]);
  a = static_cast<float*>(realloc(a, 2 * n * sizeof(float)));
  for (int64_t i = 0; i < n; ++i) a[n + i] = a[i];
  for (int64_t i = 0; i < n; ++i) o[i] = (a[n + i] + b[i] + c[i] + d[i]) / 2;
  free(a), free(b);
  delete[] c;
  return y;
}
