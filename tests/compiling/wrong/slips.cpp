//// a character in double quotes
// help: `'a'`
int forward(char c) {
  if (c == "a") return 1;  // <-
  return 0;
}

//// while as in Python
// help: `( )`
int forward(int n) {
  while n > 0:  // <-
    n -= 1;
  return n;
}

//// else with a colon
// help: `':'`
int forward(int n) {
  if (n > 0) {
    return 1;
  } else:  // <-
    return 0;
}

//// is as in Python
// help: `write ==`
bool forward(bool a, bool b) {
  return a is b;  // <-
}

//// three quotes as in Python
// help: `/*`
float forward(float x) {
  '''scale'''  // <-
  return x;
}

//// list as in Python
// help: `{1, 2, 3}`
#include <vector>
float forward() {
  std::vector<float> v = [1, 2, 3];  // <-
  return v[0];
}

//// operator forgotten
// help: `Before 'x'` `operator`
float forward(float x, float y) {
  return 2 x + y;  // <-
}

//// array for a result
// help: `std::array<float, 3>`
float[3] forward(float x) {  // <-
  return x;
}

//// append to a vector
// help: `push_back`
#include <vector>
float forward(float x) {
  std::vector<float> v;
  v.append(x);  // <-
  return v[0];
}

//// private member
// help: `public:`
class G { float i; };
float forward(G g) {
  return g.i;  // <-
}

//// reference to nothing
// help: `where it is declared`
float forward(float x) {
  float& y;  // <-
  y = x;
  return y;
}

//// directive of OpenMP misspelt
// help: `#pragma omp parallel`
// only: g++
// warns: yes
void forward(float* x, int n) {
#pragma omp paralel for  // <-
  for (int i = 0; i < n; ++i) x[i] = 0;
}

//// loop of OpenMP without a limit
// help: `i < n`
// only: g++
void forward(float* x, int n) {
#pragma omp parallel for
  for (int i = 0; x[i] > 0; ++i) x[i] = 0;  // <-
}

//// break in a loop of OpenMP
// help: `cannot be left`
// only: g++
void forward(float* x, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    if (x[i] > 0) break;  // <-
  }
}

//// tensor for a condition
// head: tensors
// help: `x.defined()`
int forward(const at::Tensor& x) {
  if (x) return 1;  // <-
  return 0;
}

//// argument too many for a method
// head: tensors
// help: `takes no number` `x.size(0)`
int64_t forward(const at::Tensor& x) {
  return x.sizes(0);  // <-
}

//// item without its type
// head: tensors
// help: `.item<float>()`
float forward(const at::Tensor& x) {
  return x.sum().item();  // <-
}

//// argument by its name
// head: tensors
// help: `named arguments`
#include <ATen/ops/zeros.h>
at::Tensor forward(int64_t n) {
  return at::zeros({n}, dtype=at::kFloat);  // <-
}

//// comma before a text forgotten
// head: tensors
// help: `','`
void forward(const at::Tensor& x) {
  TORCH_CHECK(x.dim() == 2 "two");  // <-
}

//// two equals signs for a value
// help: `single '='`
float forward(float x) {
  float y == x;  // <-
  return y;
}

//// tuple without its header
// help: `#include <tuple>`
std::tuple<float, float> forward(float x) {  // <-
  return {x, x};
}

//// too many values in braces
// help: `more values`
float forward(const float* x) {
  float y[2] = {1, 2, 3};  // <-
  return y[0] + x[0];
}

//// template's line forgotten
// help: `template <typename T>`
T half(T x) { return x / 2; }  // <-

//// angle bracket forgotten
// help: `'>'`
// only: clang++
#include <vector>
float forward(int n) {
  std::vector<float v(n);  // <-
  return v[0];
}

//// comparison turned round
// help: `<=`
bool forward(int n) {
  return n =< 3;  // <-
}

//// function called with [ ]
// help: `( )`
float gate(float x) { return x; }
float forward(float x) {
  return gate[x];  // <-
}

//// element taken with ( )
// help: `[ ]`
float forward(const float* x) {
  return x(0);  // <-
}

//// method of a number
// help: `std::pow(x`
float forward(float x) {
  return x.pow(2);  // <-
}

//// tensors without braces
// head: tensors
// help: `at::cat({x, x}, 0)`
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
at::Tensor forward(const at::Tensor& x) {
  return at::cat(x, x);  // <-
}

//// extents of a view without braces
// head: tensors
// help: `view({-1, 2})`
at::Tensor forward(const at::Tensor& x) {
  return x.view(-1, 2);  // <-
}

//// matrix product as in Python
// head: tensors
// help: `at::matmul`
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
at::Tensor forward(const at::Tensor& x) {
  return x @ x;  // <-
}

//// results taken apart as in Python
// head: tensors
// help: `auto [a, b]`
at::Tensor forward(const at::Tensor& x) {
  auto a, b = x.max(0);  // <-
  return a;
}

//// float in a dispatch
// head: tensors
// help: `scalar_t*`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] {
    float* p = x.mutable_data_ptr<scalar_t>();  // <-
    p[0] = 1;
  });
}

//// variable of a case
// help: `{ }`
int forward(int n) {
  switch (n) {
    case 1: int a = 2; return a;  // <-
    case 2: return 3;
  }
  return 0;
}

//// template without its types
// help: `std::vector<float>`
#include <vector>
int forward() {
  std::vector v;  // <-
  return v.size();
}

//// tuple with [ ]
// help: `std::get<0>`
#include <tuple>
float forward(std::tuple<float, int> t) {
  return t[0];  // <-
}

//// loop over a pointer
// help: `how many`
float forward(const float* x) {
  float s = 0;
  for (float v : x) s += v;  // <-
  return s;
}
