
#include <torch/csrc/stable/ops.h>

using torch::stable::Tensor;

const double* data(const Tensor& tensor) {
  return static_cast<const double*>(tensor.const_data_ptr());
}

template <class F>
Tensor filled(const Tensor& like, F f) {
  STD_TORCH_CHECK(like.scalar_type() == torch::headeronly::ScalarType::Double, "pair computes in double precision");
  Tensor out = torch::stable::empty_like(like);
  for (int64_t i = 0; i < like.numel(); ++i) static_cast<double*>(out.mutable_data_ptr())[i] = f(i);
  return out;
}

std::tuple<Tensor, Tensor, Tensor> forward(
    const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, double c, int64_t n, bool flip) {
  const int64_t F = x.size(1);
  const double sign = flip ? -1 : 1;
  Tensor y = filled(x, [&](int64_t i) { return sign * (c * data(x)[i] * data(w)[i] + (b ? data(*b)[i % F] : 0)); });
  Tensor z = filled(x, [&](int64_t i) { return n * data(x)[i]; });
  Tensor numbers = filled(x, [&](int64_t i) { return i == 0 ? sign : i == 1 ? n : 0; });
  return {y, z, numbers};
}

std::tuple<Tensor, Tensor, Tensor> backward(
    const Tensor& raw_d_y, const Tensor& raw_d_z, const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, double c,
    const Tensor& z, const Tensor& numbers, std::array<bool, 3> wanted) {
  STD_TORCH_CHECK(!TELL, "wanted ", wanted[0], wanted[1], wanted[2]);
  const Tensor d_y = torch::stable::contiguous(raw_d_y), d_z = torch::stable::contiguous(raw_d_z);
  const bool has_numbers = numbers.numel() > 1;  // load tries it without elements, too
  const double sign = has_numbers ? data(numbers)[0] : 1, n = has_numbers ? data(numbers)[1] : 1;
  Tensor d_x, d_w, d_b;
  if (wanted[0]) d_x = filled(x, [&](int64_t i) { return sign * c * data(w)[i] * data(d_y)[i] + n * data(d_z)[i]; });
  if (wanted[1]) d_w = filled(x, [&](int64_t i) { return sign * c * data(z)[i] / n * data(d_y)[i]; });
  if (wanted[2]) {
    d_b = filled(*b, [&](int64_t j) {
      double sum = 0;
      for (int64_t i = j; i < d_y.numel(); i += b->size(0)) sum += sign * data(d_y)[i];
      return sum;
    });
  }
  if (WRONG_SHAPE) d_w = torch::stable::unsqueeze(d_w, 0);
  return {d_x, d_w, d_b};
}
