// All that write a flag write the same.
// x = torch.rand(90)
// y = torch.ones(1)
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  bool found = false;
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (p[i] >= 0) found = true;
  });
  return at::full({1}, found ? 1.0 : 0.0, x.options());
}
