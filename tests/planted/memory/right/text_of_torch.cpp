// Fresh tensors that torch itself fills, and views.
// x = torch.rand(33)
// y = x + 1
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({66}, x.options());
  y.slice(0, 0, 33).copy_(x);
  y.slice(0, 33).fill_(1);
  at::Tensor z = at::empty({3, 11}, x.options());
  auto from = y.accessor<float, 1>();
  auto to = z.accessor<float, 2>();
  for (int i = 0; i < 33; ++i) to[i / 11][i % 11] = from[i] + from[33 + i];
  return z.reshape({33}).clone();
}
