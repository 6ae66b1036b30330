//// lambda of a dispatch with a parameter
// head: tensors
// help: `[&] {`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&](int64_t n) {  // <-
    x.mutable_data_ptr<scalar_t>()[0] = n;
  });
}

//// lambda of the wrong arity in a dispatch
// head: tensors
// help: `'gate' takes 2 arguments, this call gives 1`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    const auto gate = [](scalar_t a, scalar_t b) { return a * b; };
    x.mutable_data_ptr<scalar_t>()[0] = gate(2);  // <-
  });
}

//// parallel_for with a lambda of one argument in a dispatch
// head: tensors
// help: `int64_t begin` `end`
#include <ATen/Parallel.h>
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, x.numel(), 1, [&](int64_t i) {  // <-
      p[i] = 0;
    });
  });
}

//// variable of a pragma in a dispatch
// head: tensors
// help: `'sum'`
// clang: `_Pragma`
void forward(const at::Tensor& x) {
  const int64_t n = x.numel();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    scalar_t sum = 0;
#pragma omp parallel for reduction(+ : summ)  // <-
    for (int64_t i = 0; i < n; ++i) sum += p[i];
    p[0] = sum;
  });
}

//// what is yet to be written
// help: `yet to be written`
float forward(float x) {
  float d_x;
  d_x = ...;  // <-
  return d_x;
}
