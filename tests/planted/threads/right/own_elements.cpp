// Each chunk writes its own.
// x = torch.rand(90)
// y = x * 2
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) o[i] = p[i] * 2;
  });
  return y;
}
