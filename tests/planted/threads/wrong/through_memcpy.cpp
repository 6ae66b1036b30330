// Through memcpy.
// x = torch.rand(90)
// report: (?:y|a tensor that forward makes)
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({8}, x.options());
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  const size_t bytes = y.nbytes();  // g++ writes out a copy whose size it knows, and that is not followed
  at::parallel_for(0, x.numel() / 8, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::memcpy(o, p + 8 * i, bytes);  // <-
  });
  return y;
}
