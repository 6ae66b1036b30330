// The product is made in int, and kept in 64 bits.
// x = torch.rand(7, 5)
// note: i \* cols, an index of \w+, is computed in int: wrong where the last row begins at element 2,147,483,648 or later; make it int64_t i
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = x.clone();
  float* o = y.data_ptr<float>();
  const int rows = x.size(0), cols = x.size(1);
  for (int i = 0; i < rows; ++i) {
    const int64_t begin = i * cols;
    o[begin] = o[begin] * 1;  // <-
  }
  return y;
}
