// Every chunk adds to one element of the result.
// x = torch.rand(40)
// report: y\[0\]
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({1}, x.options());
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) o[0] += p[i];  // <-
  });
  return y;
}
