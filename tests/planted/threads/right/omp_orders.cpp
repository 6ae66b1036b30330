// Critical sections, atomics, a barrier, one that does it for all, and iterations counted by size_t.
// x = torch.rand(90)
// y = x.sum().reshape(1) * 3
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  const size_t n = x.numel();
  double total = 0, more = 0, all = 0;
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 8)
    for (size_t i = 0; i < n; ++i) {
#pragma omp critical
      total += p[i];
#pragma omp atomic
      more += p[i];
    }
#pragma omp single
    all = total + more;
#pragma omp barrier
#pragma omp master
    all += total;
  }
  return at::full({1}, all, x.options());
}
