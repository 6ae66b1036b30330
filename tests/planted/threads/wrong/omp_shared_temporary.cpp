// A variable before the loop that each iteration sets.
// x = torch.rand(40)
// report: a local variable
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  const int64_t n = x.numel();
  float value;
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    value = p[i] * 2;  // <-
    o[i] = value;  // <-
  }
  return y;
}
