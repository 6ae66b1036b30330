//// single quotes around a string
// help: `"`
#include <cstdio>
void forward() {
  std::puts('done');  // <-
}

//// single quotes in a dispatch
// head: tensors
// help: `"`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), 'forward', [&] {  // <-
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}

//// whole division as in Python
// help: `//` `comment`
int forward(int n) {
  int half = n // 2;  // <-
  return half;
}

//// condition as in Python
// help: `? `
float forward(float x) {
  float y = 1 if x > 0 else 2;  // <-
  return y;
}

//// if without parentheses
// help: `( )`
float forward(float x) {
  if x > 0 {  // <-
    return x;
  }
  return 0;
}

//// for as in Python
// help: `for (int64_t i = 0; i < n; ++i)`
float forward(const float* x, int n) {
  float sum = 0;
  for i in range(n):  // <-
    sum += x[i];
  return sum;
}

//// if with a colon
// help: `':'`
float forward(float x) {
  if (x > 0):  // <-
    return x;
  return 0;
}

//// comment as in Python
// help: `//`
float forward(float x) {
  # scale it  // <-
  return 2 * x;
}

//// import as in Python
// help: `#include`
import math  // <-
float forward(float x) { return std::tanh(x); }

//// def as in Python
// help: `Python`
def forward(float x) {  // <-
  return x;
}

//// two values as in Python
// help: `{` `}`
#include <tuple>
std::tuple<float, float> forward(float x) {
  return x, 2 * x;  // <-
}

//// a name of a namespace that does not have it
// help: `No header that is included has std::quantile`
float forward(float x) {
  return std::quantile(x);  // <-
}

//// slice as in Python
// head: tensors
// help: `slice`
at::Tensor forward(const at::Tensor& x) {
  return x[1:3];  // <-
}
