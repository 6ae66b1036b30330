// A captured variable that every chunk adds to.
// x = torch.rand(40)
// report: a local variable
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  float total = 0;
  at::parallel_for(0, x.numel(), 1, [&](int64_t begin, int64_t end) {
    float own = 0;
    for (int64_t i = begin; i < end; ++i) own += p[i];
    total += own;  // <-
  });
  return at::full({1}, total, x.options());
}
