// Bins that several chunks count in.
// x = torch.rand(400)
// report: (?:y|a tensor that forward makes)
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({8}, x.options());
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 64, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) o[int(p[i] * 8)] += 1;  // <-
  });
  return y;
}
