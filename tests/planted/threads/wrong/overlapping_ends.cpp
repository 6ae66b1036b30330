// A chunk writes one element too many: that of the next one.
// x = torch.rand(90)
// report: (?:y|a tensor that forward makes)
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({x.numel() + 1}, x.options());
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i <= end; ++i) o[i] = i < end ? p[i] : 0;  // <-
  });
  return y;
}
