// Sums that begin with what new memory holds.
// x = torch.rand(33)
// report: uninitialised: sums\[\d+\] \(byte \d+ of 32 bytes that the text allocates\) is read
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  at::Tensor y = at::empty({8}, x.options());
  float* sums = new float[8];
  for (int64_t i = 0; i < x.numel(); ++i) sums[i % 8] += p[i];  // <-
  std::copy(sums, sums + 8, y.data_ptr<float>());
  delete[] sums;
  return y;
}
