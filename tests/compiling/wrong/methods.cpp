//// numel without ()
// head: tensors
// help: `numel()`
int64_t forward(const at::Tensor& x) {
  int64_t n = x.numel;  // <-
  return n;
}

//// size of a vector without ()
// help: `size()`
#include <vector>
int forward(const std::vector<float>& v) {
  return v.size / 2;  // <-
}

//// data_ptr without ()
// head: tensors
// help: `mutable_data_ptr<float>()`
void forward(const at::Tensor& x) {
  float* p = x.mutable_data_ptr<float>;  // <-
  p[0] = 1;
}

//// data_ptr without () in a dispatch
// head: tensors
// help: `()`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>;  // <-
    p[0] = 1;
  });
}

//// an extent in square brackets
// head: tensors
// help: `size(0)`
int64_t forward(const at::Tensor& x) {
  return x.size[0];  // <-
}
