// memcpy takes bytes, and one element too many.
// x = torch.rand(33)
// report: out of bounds: byte 132 of 132 bytes that the text allocates is written
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros({40}, x.options());
  std::vector<float> copy(x.numel());
  std::memcpy(copy.data(), y.data_ptr<float>(), (x.numel() + 1) * sizeof(float));  // <-
  return x + copy[3];
}
