//// any

Tensor times(const Tensor& x, const Tensor& y) {
  const Tensor x_row = x.contiguous(), y_row = y.contiguous();
  Tensor z = at::empty(x.sizes(), x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "times", [&] {
    const scalar_t *x_p = x_row.const_data_ptr<scalar_t>(), *y_p = y_row.const_data_ptr<scalar_t>();
    scalar_t* z_p = z.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) z_p[i] = x_p[i] * y_p[i];
  });
  return z;
}

Tensor forward(const Tensor& x, const Tensor& y) {
  return times(x, y);
}

std::tuple<Tensor, Tensor> backward(const Tensor& d_z, const Tensor& x, const Tensor& y, std::array<bool, 2> wanted) {
  return {wanted[0] ? times(d_z, y) : Tensor(), wanted[1] ? times(d_z, x) : Tensor()};
}

//// scaled

Tensor forward(const Tensor& w, const Tensor& x, const std::optional<Tensor>& y) {
  return y ? w.sum() * x + *y : w.sum() * x;
}

//// sliding

Tensor forward(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b) {
  TORCH_CHECK(w.size(0) > 0, "w is empty");
  const Tensor y = x.unfold(0, w.size(0), 1).mv(w);
  return b ? y + *b : y;
}

//// spread

Tensor forward(const Tensor& x) {
  TORCH_CHECK_VALUE(x.size(0) > LEAST, "x has ", x.size(0), " elements, want two or more");
  return (x - x.mean()).square().sum() / (x.size(0) - 1);
}
