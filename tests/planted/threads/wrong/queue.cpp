// Work is taken from an atomic, and the results are added to one place.
// x = torch.rand(90)
// report: (?:y|a tensor that forward makes)
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({1}, x.options());
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  const int64_t n = x.numel();
  std::atomic<int64_t> next{0};
  at::parallel_for(0, 3, 1, [&, n](int64_t, int64_t) {
    for (int64_t i; (i = next.fetch_add(1)) < n;) o[0] += p[i];  // <-
  });
  return y;
}
