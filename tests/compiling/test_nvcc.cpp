//// cpp

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

at::Tensor scaled(const at::Tensor& x) {
  const at::Tensor y = at::empty_like(x);
  times(x, y, x.numel());
  return y;
}
at::Tensor forward(const at::Tensor& x) { return scaled(x.contiguous()); }
at::Tensor backward(const at::Tensor& d_y, std::array<bool, 1> wanted) {
  return wanted[0] ? scaled(d_y.contiguous()) : at::Tensor();
}
