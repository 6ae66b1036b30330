//// odd_text
#include <ATen/ATen.h>

std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(
    const at::Tensor& saved, const std::optional<at::Tensor>& ctx, double op, const at::Tensor& results) {
  at::Tensor y = saved * results * op;
  if (ctx) y.add_(*ctx);
  return {y, saved, results};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& gradients, double op, const at::Tensor& left, const at::Tensor& right, std::array<bool, 3> wanted) {
  at::Tensor d_saved, d_ctx, d_results;
  if (wanted[0]) d_saved = gradients * right * op;
  if (wanted[1]) d_ctx = gradients;
  if (wanted[2]) d_results = gradients * left * op;
  return {d_saved, d_ctx, d_results};
}
