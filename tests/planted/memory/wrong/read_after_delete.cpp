// A table is deleted one line too early.
// x = torch.rand(33)
// report: freed: table\[\d+\] \(byte \d+ of 256 bytes that the text allocates\) is read
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  float* table = new float[64];
  for (int i = 0; i < 64; ++i) table[i] = i;
  delete[] table;
  for (int64_t i = 0; i < x.numel(); ++i) o[i] = table[int(p[i] * 64)];  // <-
  return y;
}
