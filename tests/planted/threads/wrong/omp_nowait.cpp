// What a loop writes is read before all have come to its end.
// x = torch.rand(40)
// report: that the text allocates
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({1}, x.options());
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  const int64_t n = x.numel();
  std::vector<float> part(n);
#pragma omp parallel
  {
#pragma omp for nowait
    for (int64_t i = 0; i < n; ++i) part[i] = p[i];  // <-
#pragma omp single
    for (int64_t i = 0; i < n; ++i) o[0] += part[i];  // <-
  }
  return y;
}
