
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_cpu_dispatch.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor a = x.contiguous(), b = y.contiguous();
  at::Tensor z = at::cpu::empty(x.sizes(), x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "axpy", [&] {
    const scalar_t *p = a.const_data_ptr<scalar_t>(), *q = b.const_data_ptr<scalar_t>();
    scalar_t* r = z.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < z.numel(); ++i) r[i] = 2 * p[i] + q[i];
  });
  return z;
}

std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& d_z, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  const at::Tensor d = d_z.contiguous();
  if (wanted[0]) d_x = at::cpu::empty(d.sizes(), d.options());
  if (wanted[1]) d_y = at::cpu::empty(d.sizes(), d.options());
  AT_DISPATCH_FLOATING_TYPES(d.scalar_type(), "axpy", [&] {
    const scalar_t* p = d.const_data_ptr<scalar_t>();
    for (int64_t i = 0; i < d.numel(); ++i) {
      if (wanted[0]) d_x.mutable_data_ptr<scalar_t>()[i] = 2 * p[i];
      if (wanted[1]) d_y.mutable_data_ptr<scalar_t>()[i] = p[i];
    }
  });
  return {d_x, d_y};
}
