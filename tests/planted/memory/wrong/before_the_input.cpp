// The neighbour on the left of the first element, of which nothing depends on it.
// x = torch.rand(33)
// report: out of bounds: p\[-1\] \(element -1 of x, which has 33\) is read
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float left = p[i - 1];  // <-
    o[i] = i > 0 ? left : p[i];
  }
  return y;
}
