// Two locks for one variable.
// x = torch.rand(90)
// report: a local variable
at::Tensor run(const at::Tensor& x) {
  std::mutex odd, even;
  double total = 0;
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    const std::lock_guard<std::mutex> held(begin / 30 % 2 ? odd : even);
    total += double(end - begin);  // <-
  });
  return at::full({1}, total, x.options());
}
