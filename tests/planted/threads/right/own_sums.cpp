// Each chunk has a sum of its own, and they are put together afterwards.
// x = torch.rand(90)
// y = x.sum().reshape(1)
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  std::vector<double> sums(x.numel());
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sums[begin] += p[i];
  });
  double total = 0;
  for (const double one : sums) total += one;
  return at::full({1}, total, x.options());
}
