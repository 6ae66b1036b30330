// What one parallel part writes the next one reads.
// x = torch.rand(90)
// y = x.flip(0) * 2
at::Tensor run(const at::Tensor& x) {
  at::Tensor t = at::empty_like(x), y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float *m = t.data_ptr<float>(), *o = y.data_ptr<float>();
  const int64_t n = x.numel();
  at::parallel_for(0, n, 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) m[i] = p[i] * 2;
  });
  at::parallel_for(0, n, 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) o[i] = m[n - 1 - i];
  });
  return y;
}
