//// loop

#include <ATen/ATen.h>
at::Tensor forward(const at::Tensor& x) {
  const at::Tensor row = x.contiguous(), y = at::empty_like(row);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "twice", [&] {
    const scalar_t* from = row.const_data_ptr<scalar_t>();
    scalar_t* to = y.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = 2 * from[i];
  });
  return y;
}
