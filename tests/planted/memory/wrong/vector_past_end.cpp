// A vector of n elements, and a loop over n + 1.
// x = torch.rand(33)
// report: out of bounds: sums\[33\] \(byte 132 of 132 bytes that the text allocates\) is written
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  std::vector<float> sums(x.numel());
  for (int64_t i = 0; i < x.numel(); ++i) sums[i + 1] = sums[i] + p[i];  // <-
  for (int64_t i = 0; i < x.numel(); ++i) o[i] = sums[i];
  return y;
}
