// One element past a tensor of the text's own, where alignment leaves room.
// x = torch.rand(33)
// report: out of bounds: o\[33\] \(element 33 of .*, which has 33\) is read
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = x + 1;
  float* o = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) o[i] += o[i + 1] > 9 ? 1 : 0;  // <-
  return y;
}
