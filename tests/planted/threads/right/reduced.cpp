// at::parallel_reduce.
// x = torch.rand(90)
// y = x.sum().reshape(1)
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  const double total = at::parallel_reduce(
      0, x.numel(), 8, 0.0,
      [=](int64_t begin, int64_t end, double sum) {
        for (int64_t i = begin; i < end; ++i) sum += p[i];
        return sum;
      },
      [](double a, double b) { return a + b; });
  return at::full({1}, total, x.options());
}
