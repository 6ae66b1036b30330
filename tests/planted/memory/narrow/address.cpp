// The address of an element is computed in int as the element itself is.
// x = torch.rand(7, 5)
// note: i \* cols \+ j, an index of y and x, is computed in int: wrong from 2,147,483,648 elements on; make it int64_t i
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const int rows = x.size(0), cols = x.size(1);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) *&o[i * cols + j] = *&p[i * cols + j];  // <-
  return y;
}
