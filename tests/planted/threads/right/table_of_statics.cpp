// A table that whoever comes first makes.
// x = torch.rand(90)
// y = x * 3
const std::vector<float>& table() {
  static const std::vector<float> made(8, 3.0f);
  return made;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) o[i] = p[i] * table()[i % 8];
  });
  return y;
}
