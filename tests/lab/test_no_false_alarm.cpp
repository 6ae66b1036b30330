//// _adds

#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
void forward(const at::Tensor& x, at::Tensor& out) {
  const at::Tensor a = x.contiguous(), b = out.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "adds", [&] {
    const scalar_t* p = a.const_data_ptr<scalar_t>();
    scalar_t* q = b.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < b.numel(); ++i) q[i] += p[i];
  });
  if (!b.is_same(out)) out.copy_(b);
}
