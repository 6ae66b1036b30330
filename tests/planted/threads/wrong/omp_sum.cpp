// A sum without a reduction.
// x = torch.rand(40)
// report: (?:y|a tensor that forward makes)
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({1}, x.options());
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  const int64_t n = x.numel();
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) o[0] += p[i];  // <-
  return y;
}
