//// forward

#include <ATen/ATen.h>
#include <ATen/ops/empty_cpu_dispatch.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
  const at::Tensor z = at::cpu::empty(x.sizes(), x.options());
  const float* x_p = x_row.data_ptr<float>();
  const float* y_p = y_row.data_ptr<float>();
  float* z_p = z.data_ptr<float>();
  for (int64_t i = 0; i < z.numel(); ++i) z_p[i] = 2 * x_p[i] + y_p[i];
  return z;
}

//// backward

std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& d_z, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  if (wanted[0]) d_x = at::mul(d_z, 2);
  if (wanted[1]) d_y = d_z;
  return {d_x, d_y};
}
