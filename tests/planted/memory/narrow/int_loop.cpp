// A counter in int, in one loop over all elements.
// x = torch.rand(7, 5)
// note: i, an index of y and x, is computed in int: wrong from 2,147,483,648 elements on; make it int64_t i
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  for (int i = 0; i < x.numel(); ++i) o[i] = p[i];  // <-
  return y;
}
