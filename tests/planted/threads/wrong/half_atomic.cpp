// An atomic on one side and none on the other.
// x = torch.rand(90)
// report: a local variable .*atomic
at::Tensor run(const at::Tensor& x) {
  int64_t count = 0;
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    if (begin == 0) count = 7;  // <-
    __atomic_fetch_add(&count, end - begin, __ATOMIC_RELAXED);  // <-
  });
  return at::full({1}, double(count), x.options());
}
