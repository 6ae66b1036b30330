// Bytes side by side are apart, one byte is not.
// x = torch.rand(90)
// report: (?:y|a tensor that forward makes)
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({x.numel()}, at::kByte);
  uint8_t* o = y.data_ptr<uint8_t>();
  at::parallel_for(0, x.numel(), 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) o[i] = 1;  // <-
    o[31] = uint8_t(begin);  // <-
  });
  return y.to(at::kFloat);
}
