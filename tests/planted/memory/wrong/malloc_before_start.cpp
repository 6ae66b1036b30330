// The neighbour on the left of the first element.
// x = torch.rand(33)
// report: out of bounds: copy\[-1\] \(byte -4 of 132 bytes that the text allocates\) is read
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  float* o = y.data_ptr<float>();
  float* copy = static_cast<float*>(malloc(x.numel() * sizeof(float)));
  std::memcpy(copy, x.data_ptr<float>(), x.numel() * sizeof(float));
  for (int64_t i = 0; i < x.numel(); ++i) o[i] = copy[i] - (copy[i - 1] > 2 ? 1 : 0);  // <-
  free(copy);
  return y;
}
