// An atomic that all add to, by compare and exchange.
// x = torch.rand(90)
// y = x.sum().reshape(1)
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  std::atomic<double> total{0};
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double before = total.load();
      while (!total.compare_exchange_weak(before, before + p[i])) {
      }
    }
  });
  return at::full({1}, total.load(), x.options());
}
