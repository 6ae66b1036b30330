// A parallel part inside of one runs on one thread.
// x = torch.rand(90)
// y = x * 2
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 30, [=](int64_t begin, int64_t end) {
    float last = 0;
    at::parallel_for(begin, end, 1, [&](int64_t first, int64_t past) {
      for (int64_t i = first; i < past; ++i) last = o[i] = p[i] * 2;
    });
    if (end > begin) o[end - 1] = last;
  });
  return y;
}
