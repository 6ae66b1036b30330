// Inside of a macro each thread has its elements.
// x = torch.rand(90)
// y = torch.full_like(x, x[0])
#include <ATen/Dispatch.h>
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sum", [&] {
    const scalar_t* from = x.const_data_ptr<scalar_t>();
    scalar_t* to = y.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, x.numel(), 8, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] += from[0];
    });
  });
  return y;
}
