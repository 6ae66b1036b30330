// Scratch memory of the text itself that all chunks use.
// x = torch.rand(90)
// report: that the text allocates
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  std::vector<float> scratch(4);
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      scratch[0] = p[i];  // <-
      o[i] = scratch[0] * 2;  // <-
    }
  });
  return y;
}
