// A reduction.
// x = torch.rand(90)
// y = x.sum().reshape(1)
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  const int64_t n = x.numel();
  double total = 0;
#pragma omp parallel for reduction(+ : total) schedule(guided)
  for (int64_t i = 0; i < n; ++i) total += p[i];
  return at::full({1}, total, x.options());
}
