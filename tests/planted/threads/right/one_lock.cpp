// One lock for one variable.
// x = torch.rand(90)
// y = torch.full((1,), 90.0)
at::Tensor run(const at::Tensor& x) {
  std::mutex mutex;
  double total = 0;
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    const std::lock_guard<std::mutex> held(mutex);
    total += double(end - begin);
  });
  return at::full({1}, total, x.options());
}
