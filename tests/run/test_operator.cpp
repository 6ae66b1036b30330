//// product

std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& w) {
  return {3 * x.mm(w), $EXTRA};
}
std::tuple<Tensor, Tensor> backward(const Tensor& d_y, $TAKES const Tensor& extra, std::array<bool, 2> wanted) {
  return {wanted[0] ? 3 * d_y.mm(w.t()) : Tensor(), wanted[1] ? 3 * x.t().mm(d_y) : Tensor()};
}

//// forgetful

std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& w) {
  return {3 * x.mm(w), at::cat({x.flatten(), w.flatten()})};
}
std::tuple<Tensor, Tensor> backward(const Tensor& d_y, const Tensor& w, const Tensor& both, std::array<bool, 2> wanted) {
  const int64_t B = d_y.size(0), F = w.size(0);
  return {wanted[0] ? 3 * d_y.mm(w.t()) : Tensor(), wanted[1] ? 3 * both.slice(0, 0, B * F).view({B, F}).t().mm(d_y) : Tensor()};
}

//// untold

std::tuple<Tensor, Tensor> forward(const Tensor& x) {
  return {x.sum(1), at::scalar_tensor(x.size(1), at::kLong)};
}
Tensor backward(const Tensor& d_y, const Tensor& columns, std::array<bool, 1> wanted) {
  return d_y.unsqueeze(1).expand({d_y.size(0), columns.item<int64_t>()});
}

//// through_aten

Tensor forward(const Tensor& x, const Tensor& w) {
  return 3 * x.mm(w);
}

//// sharing

std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& y) {
  return {x * y, x.contiguous(), y.contiguous()};
}
std::tuple<Tensor, Tensor> backward(const Tensor& d_z, const Tensor& x, const Tensor& y, std::array<bool, 2> wanted) {
  return {d_z * y, d_z * x};
}

//// sum

Tensor forward(const Tensor& x, const Tensor& y) {
  return x + y;
}
std::tuple<Tensor, Tensor> backward(const Tensor& d_z, std::array<bool, 2> wanted) {
  return {d_z, d_z};
}
