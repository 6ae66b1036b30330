// A value is handed on by an atomic flag.
// x = torch.rand(90)
// y = torch.full((1,), 7.0)
at::Tensor run(const at::Tensor& x) {
  std::atomic<bool> ready{false};
  double value = 0, seen = 0;
  at::parallel_for(0, 3, 1, [&](int64_t begin, int64_t) {
    if (begin == 0) {
      value = 7;
      ready.store(true, std::memory_order_release);
    } else if (begin == 1) {
      while (!ready.load(std::memory_order_acquire)) {
      }
      seen = value;
    }
  });
  return at::full({1}, seen, x.options());
}
