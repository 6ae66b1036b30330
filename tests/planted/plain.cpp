
#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <tuple>

using at::Tensor;

template <typename T>
T sigmoid(T z) {
  return 1 / (1 + std::exp(-z));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> forward(
    const Tensor& input, const Tensor& weights, const Tensor& bias, const Tensor& old_h, const Tensor& old_cell) {
  const Tensor X = at::cat({old_h, input}, 1);
  Tensor gates = at::addmm(bias, X, weights.t());
  const Tensor cells = old_cell.contiguous();
  const int64_t B = old_cell.size(0), S = old_cell.size(1);
  Tensor new_h = at::empty({B, S}, old_cell.options());
  Tensor new_cell = at::empty({B, S}, old_cell.options());
  AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lltm forward", [&] {
    scalar_t* g = gates.mutable_data_ptr<scalar_t>();
    const scalar_t* old = cells.const_data_ptr<scalar_t>();
    scalar_t* h = new_h.mutable_data_ptr<scalar_t>();
    scalar_t* cell = new_cell.mutable_data_ptr<scalar_t>();
    for (int64_t b = 0; b < B; ++b) {
      scalar_t* i = g + b * 3 * S;
      scalar_t* o = i + S;
      scalar_t* c = o + S;
      for (int64_t s = 0; s < S; ++s) {
        i[s] = sigmoid(i[s]);
        o[s] = sigmoid(o[s]);
        c[s] = c[s] > 0 ? c[s] : std::expm1(c[s]);
        cell[b * S + s] = old[b * S + s] + c[s] * i[s];
        h[b * S + s] = std::tanh(cell[b * S + s]) * o[s];
      }
    }
  });
  return {new_h, new_cell, gates, X};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> backward(
    const Tensor& d_new_h, const Tensor& d_new_cell, const Tensor& weights, const Tensor& new_cell, const Tensor& gates, const Tensor& X,
    std::array<bool, 5> wanted) {
  const Tensor dh = d_new_h.contiguous(), dcell = d_new_cell.contiguous();
  const int64_t B = new_cell.size(0), S = new_cell.size(1);
  Tensor d_gates = at::empty_like(gates);
  Tensor d_old_cell = at::empty({B, S}, gates.options());
  AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lltm backward", [&] {
    const scalar_t* g = gates.const_data_ptr<scalar_t>();
    const scalar_t* cell = new_cell.const_data_ptr<scalar_t>();
    const scalar_t* gh = dh.const_data_ptr<scalar_t>();
    const scalar_t* gc = dcell.const_data_ptr<scalar_t>();
    scalar_t* d = d_gates.mutable_data_ptr<scalar_t>();
    scalar_t* d_old = d_old_cell.mutable_data_ptr<scalar_t>();
    for (int64_t b = 0; b < B; ++b) {
      for (int64_t s = 0; s < S; ++s) {
        const int64_t at = b * S + s, gate = b * 3 * S + s;
        const scalar_t i = g[gate], o = g[gate + S], c = g[gate + 2 * S];
        const scalar_t t = std::tanh(cell[at]);
        const scalar_t d_cell = gc[at] + gh[at] * o * (1 - t * t);
        d_old[at] = d_cell;
        d[gate] = d_cell * c * i * (1 - i);
        d[gate + S] = gh[at] * t * o * (1 - o);
        d[gate + 2 * S] = d_cell * i * (c > 0 ? scalar_t(1) : c + 1);
      }
    }
  });
  Tensor d_input, d_weights, d_bias, d_old_h;
  if (wanted[1]) d_weights = d_gates.t().mm(X);
  if (wanted[2]) d_bias = d_gates.sum(0);
  if (wanted[0]) d_input = d_gates.mm(weights.slice(1, S));
  if (wanted[3]) d_old_h = d_gates.mm(weights.slice(1, 0, S));
  return {d_input, d_weights, d_bias, d_old_h, wanted[4] ? d_old_cell : Tensor()};
}
