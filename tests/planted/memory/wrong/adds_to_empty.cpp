// A result that is added to, and begins with what new memory holds.
// x = torch.rand(33)
// report: uninitialised: o\[0\] \(y\[0\]\) is read at
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (o[i] > p[i]) o[i] = p[i];  // <-
    else o[i] = p[i];
  }
  return y;
}
