// A vector moves its elements when it grows.
// x = torch.rand(33)
// report: freed: byte 0 of 16 bytes that the text allocates is read
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  float* o = y.data_ptr<float>();
  std::vector<float> seen(4, 1.0f);
  const float* first = seen.data();
  for (int64_t i = 0; i < x.numel(); ++i) {
    seen.push_back(x.data_ptr<float>()[i]);
    o[i] = *first;  // <-
  }
  return y;
}
