// A variable of each thread, and parts by the number of the thread.
// x = torch.rand(90)
// y = x.sum().reshape(1)
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  const int64_t n = x.numel();
  float value = 0;
  std::vector<double> parts(64);
#pragma omp parallel for firstprivate(value)
  for (int64_t i = 0; i < n; ++i) {
    value = p[i];
#ifdef _OPENMP
    parts[omp_get_thread_num()] += value;
#else
    parts[0] += value;
#endif
  }
  double total = 0;
  for (const double one : parts) total += one;
  return at::full({1}, total, x.options());
}
