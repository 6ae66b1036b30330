// A thread that has done its part takes down what is its own while the next one runs; and each stores what was there.
// x = torch.rand(300)
// y = 2 * x
struct Own {
  ~Own() {
    for (int i = 0; i < 4000; ++i) {
      std::vector<float> taken(7);
    }
  }
  float factor = 2;
};
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  for (int part = 0; part < 5; ++part) {
    at::parallel_for(0, x.numel(), 1, [&](int64_t, int64_t) {
      thread_local Own own;
      for (int64_t i = 0; i < x.numel(); ++i) o[i] = own.factor * p[i];
    });
  }
  return y;
}
