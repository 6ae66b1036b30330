// gradient old_cell: forgets the way by new_h
#include <ATen/ATen.h>

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> forward(
    const at::Tensor& input, const at::Tensor& weights, const at::Tensor& bias,
    const at::Tensor& old_h, const at::Tensor& old_cell) {
  const at::Tensor X = at::cat({old_h, input}, 1);
  const auto z = at::addmm(bias, X, weights.t()).chunk(3, 1);

  const at::Tensor i = at::sigmoid(z[0]);
  const at::Tensor o = at::sigmoid(z[1]);
  const at::Tensor c = at::elu(z[2]);

  const at::Tensor new_cell = old_cell + c * i;
  const at::Tensor new_h = at::tanh(new_cell) * o;
  return {new_h, new_cell, X, i, o, c};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& d_new_h, const at::Tensor& d_new_cell,
    const at::Tensor& weights, const at::Tensor& new_cell,
    const at::Tensor& X, const at::Tensor& i, const at::Tensor& o, const at::Tensor& c,
    std::array<bool, 5> wanted) {
  const int64_t S = new_cell.size(1);
  const at::Tensor t = at::tanh(new_cell);
  const at::Tensor d_cell = d_new_cell + at::tanh_backward(d_new_h * o, t);  // tanh' = 1 - t^2

  const at::Tensor d_i = at::sigmoid_backward(d_cell * c, i);  // sigmoid' = i (1 - i)
  const at::Tensor d_o = at::sigmoid_backward(d_new_h * t, o);
  const at::Tensor d_c = at::elu_backward(d_cell * i, 1, 1, 1, /*is_result=*/true, c);  // elu' = c > 0 ? 1 : c + 1
  const at::Tensor d_z = at::cat({d_i, d_o, d_c}, 1);

  at::Tensor d_input, d_weights, d_bias, d_old_h, d_old_cell;
  if (wanted[0]) d_input = d_z.mm(weights.slice(1, S));
  if (wanted[1]) d_weights = d_z.t().mm(X);
  if (wanted[2]) d_bias = d_z.sum(0);
  if (wanted[3]) d_old_h = d_z.mm(weights.slice(1, 0, S));
  if (wanted[4]) d_old_cell = d_new_cell.clone();
  return {d_input, d_weights, d_bias, d_old_h, d_old_cell};
}
