//// both

std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& w) {
  return {x * w, x + w};
}

std::tuple<Tensor, Tensor> backward(
    const std::optional<Tensor>& d_y, const std::optional<Tensor>& d_z, const Tensor& x, const Tensor& w, std::array<bool, 2> wanted) {
  TORCH_CHECK(x.sym_numel() != 1009, "d_y ", d_y.has_value(), ", d_z ", d_z.has_value());
  Tensor d_x, d_w;
  if (wanted[0]) d_x = !d_y ? *d_z : d_z ? *d_y * w + *d_z : *d_y * w;
  if (wanted[1]) d_w = !d_y ? *d_z : d_z ? *d_y * x + *d_z : *d_y * x;
  return {d_x, d_w};
}

//// views

std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& w) {
  return {(x.t() * w.t()).contiguous().t(), at::stack({x + w, x}, -1).select(-1, 0), x.flip(0).t()};
}

std::tuple<Tensor, Tensor> backward(
    const Tensor& d_y, const Tensor& d_z, const Tensor& x, const Tensor& w, const Tensor& flipped, std::array<bool, 2> wanted) {
  TORCH_CHECK(flipped.is_contiguous(), "the extra tensor is as forward returned it");
  return {
      wanted[0] ? (d_y.t() * w.t() + d_z.t()).contiguous().t() : Tensor(),
      wanted[1] ? at::stack({d_y * x + d_z, x}, -1).select(-1, 0) : Tensor()};
}

//// cube

Tensor forward(const Tensor& x) {
  return x * x * x;
}

Tensor backward(const Tensor& d_y, const Tensor& x, std::array<bool, 1> wanted) {
  return d_y * 3 * x * x;
}

//// kept

std::tuple<Tensor, Tensor> forward(const Tensor& x) {
  return {x * x * x, 3 * x * x};
}

Tensor backward(const Tensor& d_y, const Tensor& slope, std::array<bool, 1> wanted) {
  return d_y * slope;
}
