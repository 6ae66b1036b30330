// All in 64 bits, with a table and a bias that stay small.
// x = torch.rand(7, 5)
// note: none
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* p = x.data_ptr<float>();
  float* o = y.data_ptr<float>();
  const at::Tensor bias = at::zeros({x.size(1)}, x.options());
  const float* b = bias.data_ptr<float>();
  const float table[2] = {1, 1};
  std::vector<int> seen(4);
  for (int64_t r = 0; r < x.size(0); ++r)
    for (int c = 0; c < x.size(1); ++c) {
      const float* row = p + r * x.size(1);
      o[r * x.size(1) + c] = row[c] * table[c % 2] + b[c] + seen[c % 4];
    }
  return y;
}
