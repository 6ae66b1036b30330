// Compilers have one line for all that a macro is given; the subscript tells which it was, also where it is a number.
// x = torch.rand(90)
// report: (?:y|a tensor that forward makes)
#include <ATen/Dispatch.h>
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::zeros_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sum", [&] {
    const scalar_t* from = x.const_data_ptr<scalar_t>();
    scalar_t* to = y.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, x.numel(), 8, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[0] += from[i];  // <-
    });
  });
  return y;
}
