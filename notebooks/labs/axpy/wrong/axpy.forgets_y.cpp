// parity: forgets y
#include <ATen/ATen.h>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return A * x; }
