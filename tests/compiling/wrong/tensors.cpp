//// an element of a tensor for a number
// head: tensors
// help: `data_ptr<float>()` `tensor`
float forward(const at::Tensor& x) {
  float first = x[0];  // <-
  return first;
}

//// a tensor for a pointer
// head: tensors
// help: `data_ptr<float>()`
void forward(const at::Tensor& x) {
  const float* p = x;  // <-
  (void)p;
}

//// star in front of a tensor
// head: tensors
// help: `data_ptr<`
float forward(const at::Tensor& x) {
  return *x;  // <-
}

//// arrow on a tensor
// head: tensors
// help: `dot`
int64_t forward(const at::Tensor& x) {
  return x->numel();  // <-
}

//// a sum that stays a tensor
// head: tensors
// help: `item<float>()`
float forward(const at::Tensor& x) {
  float total = x.sum();  // <-
  return total;
}

//// an accessor with a comma
// head: tensors
// help: `a[i][j]`
float forward(const at::Tensor& x) {
  auto a = x.accessor<float, 2>();
  float first = a[0, 1];  // <-
  return first;
}

//// an accessor without its dimensions
// head: tensors
// help: `accessor<float, 2>()`
float forward(const at::Tensor& x) {
  auto a = x.accessor<float>();  // <-
  return a[0];
}

//// extents without braces
// head: tensors
// help: `{` `}`
#include <ATen/ops/zeros.h>
at::Tensor forward(int64_t n) {
  return at::zeros(n, n);  // <-
}

//// size without its dimension
// head: tensors
// help: `size(0)`
int64_t forward(const at::Tensor& x) {
  return x.size();  // <-
}

//// dtype in a dispatch
// head: tensors
// help: `x.scalar_type()`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.dtype(), "forward", [&] {  // <-
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}
