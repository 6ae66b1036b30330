
#include <torch/csrc/stable/ops.h>

using torch::stable::Tensor;

Tensor times(const Tensor& tensor, double factor) {
  Tensor from = torch::stable::contiguous(tensor), to = torch::stable::empty_like(from);
  const bool wide = from.scalar_type() == torch::headeronly::ScalarType::Double;
  for (int64_t i = 0; i < from.numel(); ++i) {
    if (wide) {
      static_cast<double*>(to.mutable_data_ptr())[i] = factor * static_cast<const double*>(from.const_data_ptr())[i];
    } else {
      static_cast<float*>(to.mutable_data_ptr())[i] = factor * static_cast<const float*>(from.const_data_ptr())[i];
    }
  }
  return to;
}

Tensor forward(const Tensor& x) {
  return times(x, FACTOR);
}

Tensor backward(const Tensor& d_y, std::array<bool, 1> wanted) {
  return wanted[0] ? times(d_y, FACTOR) : Tensor();
}
