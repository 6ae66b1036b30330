// The last chunk of a parallel loop goes too far, in a vector of all.
// x = torch.rand(90)
// report: out of bounds: byte 360 of 360 bytes that the text allocates is written
at::Tensor run(const at::Tensor& x) {
  const float* p = x.data_ptr<float>();
  std::vector<float> all(x.numel());
  at::parallel_for(0, x.numel(), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) all[i + (i == 89)] = p[i];  // <-
  });
  return at::full({1}, all[5], x.options());
}
