// Scratch memory that each chunk makes and frees.
// x = torch.rand(90)
// y = x * 2
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::vector<float> scratch(16, p[i]);
      at::Tensor more = at::full({16}, double(scratch[3]), at::kFloat);
      o[i] = scratch[7] + more.data_ptr<float>()[15];
    }
  });
  return y;
}
