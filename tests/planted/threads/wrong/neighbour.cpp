// Each chunk reads an element that the one before it writes.
// x = torch.rand(90)
// report: (?:y|a tensor that forward makes)
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = x.clone();
  float* o = y.data_ptr<float>();
  at::parallel_for(1, x.numel(), 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) o[i] = o[i - 1] + 1;  // <-
  });
  return y;
}
