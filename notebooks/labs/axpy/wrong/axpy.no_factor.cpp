// gradient x: is d_z, without the factor
#include <ATen/ATen.h>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return A * x + y; }
std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& d_z, std::array<bool, 2> wanted) {
  return {d_z.clone(), d_z.clone()};
}
