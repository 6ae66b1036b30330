// A static variable.
// x = torch.rand(90)
// report: a static variable
at::Tensor run(const at::Tensor& x) {
  static int64_t calls = 0;
  at::Tensor y = x.clone();
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    calls += end - begin;  // <-
  });
  return y + double(calls) * 0;
}
