//// a vector made of a tensor
// head: tensors
// help: `std::vector<float> v(p, p + x.numel())`
#include <vector>
at::Tensor forward(const at::Tensor& x) {
  std::vector<float> v = x;  // <-
  return x;
}

//// a header of C++ with .h
// help: `#include <cmath>?`
#include <cmath.h>  // <-
float forward(float x) { return x; }

//// a header of PyTorch without its folder
// help: `#include <ATen/Dispatch.h>`
#include <Dispatch.h>  // <-
float forward(float x) { return x; }

//// tensors to save without braces
// head: tensors
// help: `save_for_backward({x, y})`
#include <vector>
struct Context { void save_for_backward(std::vector<at::Tensor> list); };
at::Tensor forward(Context* ctx, const at::Tensor& x, const at::Tensor& y) {
  ctx->save_for_backward(x, y);  // <-
  return x;
}

//// a private method
// help: `public: before line 5`
class Scale {
  float twice(float v) { return 2 * v; }
};
float forward(float x) {
  Scale s;
  return s.twice(x);  // <-
}

//// a private member of std
// help: `private to its class`
#include <complex>
float forward(std::complex<float> z) {
  return z._M_value;  // <-
}

//// std::max of an int and a float
// help: `int and float` `std::max<float>(`
#include <algorithm>
float forward(float x) {
  return std::max(0, x);  // <-
}

//// a dtype between < and >
// head: tensors
// help: `AT_DISPATCH_FLOATING_TYPES(x.scalar_type(),` `scalar_t`
at::Tensor forward(const at::Tensor& x) {
  auto p = x.data_ptr<x.dtype()>();  // <-
  return x;
}

//// too many arguments for a method of one
// help: `1 argument` `gives 2`
struct Gate { float open(float v) { return v; } };
float forward(Gate g, float x) {
  return g.open(x, 1);  // <-
}

//// tensors of einsum without braces
// head: tensors
// help: `at::einsum("...", {x, y})`
#include <ATen/ops/einsum.h>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  return at::einsum("i,i->", x, y);  // <-
}

//// Slice without its namespace
// head: tensors
// help: `at::indexing::Slice`
at::Tensor forward(const at::Tensor& x) {
  return x.index({Slice(0, 4)});  // <-
}

//// softmax without its axis
// head: tensors
// help: `x.softmax(-1)`
at::Tensor forward(const at::Tensor& x) {
  return x.softmax();  // <-
}

//// a list times a number
// help: `v(n, 0.0f)`
#include <vector>
float forward(int n) {
  std::vector<float> sums = {0} * n;  // <-
  return sums[0];
}

//// values put into a text with %
// help: `into a text with %`
#include <cstdio>
void forward(int n) {
  std::puts("got %d" % n);  // <-
}

//// then as in other languages
// help: `no then`
float forward(float x) {
  if (x > 0) then {  // <-
    x = 2 * x;
  }
  return x;
}

//// end as in other languages
// help: `'}'`
float forward(float x) {
  if (x > 0) {
    x = 2 * x;
  end  // <-
  }
  return x;
}

//// address of an element of a tensor
// head: tensors
// help: `x.const_data_ptr<float>()`
float forward(const at::Tensor& x) {
  const float* p = &x[0];  // <-
  return *p;
}

//// parallel_for without a grain size
// head: tensors
// help: `begin, end, grain`
#include <ATen/Parallel.h>
void forward(float* y, int64_t n) {
  at::parallel_for(0, n, [&](int64_t begin, int64_t end) {  // <-
    for (int64_t i = begin; i < end; ++i) y[i] = 0;
  });
}

//// members of another context
// head: tensors
// help: `get_saved_variables()`
namespace torch::autograd {
struct AutogradContext { int kept; };
}
void forward(torch::autograd::AutogradContext* ctx) {
  ctx->saved_tensors();  // <-
}

//// a cast without ( )
// help: `static_cast<float>(a[0])`
float forward(const double* a) {
  return static_cast<float>a[0];  // <-
}

//// include without #
// head: none
// help: `A # is missing`
#include <cmath>
#include <cstdint>
include <vector>  // <-
float forward(float x) { return x; }

//// vector with brackets
// help: `with which 'row' is declared` `row(n)`

#include <vector>
void forward(const float* x, float* y, int n) {
  std::vector<float> row[n];
  for (int i = 0; i < n; ++i) row[i] = 2 * x[i];  // <-
  for (int i = 0; i < n; ++i) y[i] = x[i];
}

//// message of a check without a comma
// head: tensors
// help: `this text in quotes` `'x.dim'`

#include <c10/util/Exception.h>
at::Tensor forward(const at::Tensor& x) {
  TORCH_CHECK(x.dim() == 2, "want a matrix, got " x.dim() " axes");  // <-
  return x;
}

//// one star for two names
// help: `In line 5 the *`
void forward(const float* x, float* y, int n) {
  float* a, b;
  a = y;
  b = y + n / 2;  // <-
  for (int i = 0; i < n / 2; ++i) a[i] = x[i];
}

//// exp of a pointer
// help: `x[i]`
void forward(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 1 / (1 + std::exp(-x));  // <-
}

//// one index for two axes
// head: tensors
// help: `more dimensions`
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = x.clone();
  auto a = y.accessor<float, 2>();
  for (int64_t i = 0; i < y.numel(); ++i) a[i] = 0.0f;  // <-
  return y;
}

//// arguments in another order
// help: `row_sum(const float* row, int64_t n)`
static float row_sum(const float* row, int64_t n) {
  float s = 0;
  for (int64_t i = 0; i < n; ++i) s += row[i];
  return s;
}
void forward(const float* x, float* y, int64_t n, int64_t m) {
  for (int64_t i = 0; i < n; ++i) y[i] = row_sum(m, x + i * m);  // <-
}

//// atomic in a copying lambda
// help: `[&]`

#include <atomic>
float forward(const float* x, int n) {
  std::atomic<int> count{0};
  auto body = [=](int i) mutable { if (x[i] > 0) count++; };  // <-
  for (int i = 0; i < n; ++i) body(i);
  return count.load();
}

//// vector of vectors from two numbers
// help: `a(n, std::vector<float>(m))`

#include <vector>
float forward(const float* x, int n, int m) {
  std::vector<std::vector<float>> a(n, m);  // <-
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) a[i][j] = x[i * m + j];
  return a[0][0];
}

//// two types in a for
// help: `int i = 0, j`
void forward(const float* x, float* y, int n) {
  for (int i = 0, int j = n - 1; i < n; ++i, --j) y[i] = x[j];  // <-
}

//// softmax without its axis, again
// head: tensors
// help: `softmax(const Tensor&`
// clang: `softmax(const at::Tensor& self, int64_t dim`

#include <ATen/ops/softmax.h>
at::Tensor forward(const at::Tensor& x) {
  return at::softmax(x);  // <-
}

//// parameter with empty brackets
// help: `float a[][4]`
float trace(float a[][], int n) {  // <-
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[i][i];
  return s;
}
float forward(const float* x) { return x[0]; }

//// array of arrays for a pointer to pointers
// help: `&a[0][0] and take a float*`
float corner(float** a) { return a[0][0]; }
float forward(const float* x) {
  float t[3][4];
  t[0][0] = x[0];
  return corner(t);  // <-
}

//// memcpy from a tensor
// head: tensors
// help: `x.const_data_ptr<float>()`

#include <cstring>
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = x.clone();
  memcpy(y.data_ptr<float>(), x, x.numel() * sizeof(float));  // <-
  return y;
}

//// sizes as a pointer
// head: tensors
// help: `at::IntArrayRef`
at::Tensor forward(const at::Tensor& x) {
  int64_t* shape = x.sizes();  // <-
  return x * shape[0];
}

//// name that std has too
// help: `Two things are called 'count'`

#include <algorithm>
using namespace std;
int count = 0;
int forward(const float* x, int n) {
  for (int i = 0; i < n; ++i)
    if (x[i] > 0) count++;  // <-
  return count;
}

//// accessor type without its axes
// head: tensors
// help: `at::TensorAccessor<float, 2>`
static float first(at::TensorAccessor<float> a) { return a[0]; }  // <-
at::Tensor forward(const at::Tensor& x) {
  return x * first(x.accessor<float, 1>());
}

//// vector from a pointer and a length
// help: `v(x, x + n)`

#include <vector>
float forward(const float* x, int64_t n) {
  std::vector<float> v(x, n);  // <-
  return v[0];
}

//// unique_ptr from new
// help: `tmp(new float[n])`

#include <memory>
float forward(const float* x, int n) {
  std::unique_ptr<float[]> tmp = new float[n];  // <-
  tmp[0] = x[0];
  return tmp[0];
}

//// lambda with two kinds of result
// help: `-> float, say`
float forward(const float* x, int n) {
  auto relu = [](float v) {
    if (v > 0) return v;
    return 0;  // <-
  };
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += relu(x[i]);
  return sum;
}

//// length behind its use
// help: `write float* x`
static float total(const float x[n], int n) {  // <-
  float s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  return s;
}
float forward(const float* x) { return total(x, 3); }

//// number for an enum
// help: `static_cast<Mode>(...)`
enum Mode { RELU, TANH };
float forward(float x, int n) {
  Mode mode = n;  // <-
  return mode == RELU ? (x > 0 ? x : 0) : std::tanh(x);
}

//// tuple of two into three
// head: tensors
// help: `3 names`

#include <tuple>
at::Tensor forward(const at::Tensor& x) {
  auto [values, indices, rest] = x.max(1);  // <-
  return values;
}

//// sort of a whole vector
// help: `std::sort(v.begin(), v.end())`

#include <algorithm>
#include <vector>
float forward(const float* x, int n) {
  std::vector<float> v(x, x + n);
  std::sort(v);  // <-
  return v[n / 2];
}

//// accumulate without its start
// help: `'accumulate' takes 3`

#include <numeric>
float forward(const float* x, int n) {
  float sum = std::accumulate(x, x + n);  // <-
  return sum / n;
}

//// private of an unknown name
// help: `leave 'i' out of private`
// only: g++
void forward(const float* x, float* y, int n) {
#pragma omp parallel for private(i)  // <-
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}

//// lambda that captures, for a function pointer
// help: `std::function<float(float)>`
static void apply(float (*f)(float), const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = f(x[i]);
}
void forward(const float* x, float* y, int n, float scale) {
  apply([&](float v) { return scale * v; }, x, y, n);  // <-
}

//// case without a colon
// help: `case 0:`
float forward(float x, int mode) {
  switch (mode) {
    case 0 return x;  // <-
    default: return 0;
  }
}

//// dtype as a template argument
// head: tensors
// help: `float for at::kFloat`
at::Tensor forward(const at::Tensor& x) {
  const float* p = x.data_ptr<at::kFloat>();  // <-
  return x * p[0];
}

//// dtype in quotes
// head: tensors
// help: `at::kFloat`

#include <ATen/ops/zeros.h>
at::Tensor forward(const at::Tensor& x) {
  return at::zeros(x.sizes(), x.options().dtype("float"));  // <-
}

//// method of a result without its brackets
// head: tensors
// help: `write .relu()`

#include <ATen/ops/mm.h>
at::Tensor forward(const at::Tensor& x, const at::Tensor& w) {
  return at::mm(x, w).relu;  // <-
}

//// type for a value
// head: tensors
// help: `at::Tensor() makes one`

#include <array>
at::Tensor forward(const at::Tensor& g, std::array<bool, 1> wanted) {
  at::Tensor d_x = at::Tensor;  // <-
  if (wanted[0]) d_x = g.exp();
  return d_x;
}

//// comma missing between template arguments
// head: tensors
// help: `a ',' is missing`

#include <tuple>
std::tuple<at::Tensor at::Tensor> forward(const at::Tensor& x) {  // <-
  return {x, x.exp()};
}

//// restrict of C
// help: `__restrict__`
void forward(const float* restrict x, float* restrict y, int n) {  // <-
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}

//// pointer returned as the tensor
// head: tensors
// help: `A pointer is no tensor`
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = x.clone();
  float* p = y.data_ptr<float>();
  for (int64_t i = 0; i < y.numel(); ++i) p[i] *= 2;
  return p;  // <-
}

//// one value taken apart
// help: `one value`
static float mean(const float* x, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  return s / n;
}
float forward(const float* x, int n) {
  auto [m, v] = mean(x, n);  // <-
  return m + v;
}

//// last member without a semicolon
// help: `A ';' is missing`
struct Point {
  float x;
  float y  // <-
};
float forward(const float* p) {
  Point q{p[0], p[1]};
  return q.x + q.y;
}

//// too many template arguments
// help: `template <class T>`
template <class T>
T twice(T v) { return 2 * v; }
float forward(float x) {
  return twice<float, 3>(x);  // <-
}

//// type from a dtype
// head: tensors
// help: `AT_DISPATCH_FLOATING_TYPES(x.scalar_type()`
at::Tensor forward(const at::Tensor& x) {
  using scalar_t = x.scalar_type();  // <-
  at::Tensor y = x.clone();
  y.data_ptr<scalar_t>()[0] = 0;
  return y;
}

//// method of a number, again
// help: `sum += v`
float forward(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum.add(x[i]);  // <-
  return sum;
}

//// variable with the name of a function
// help: `The variable 'exp' of line 6`
void forward(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) {
    float exp = 0;
    exp = exp(x[i]);  // <-
    y[i] = exp / (1 + exp);
  }
}

//// a statement that goes on in the next line
// help: `it goes on in the next line`
float forward(const float* x, int n) {
  float s = 0;
  int i = 0;
  while (i < n) {
    s += x[i]  // <-
    ++i;
  }
  return s;
}

//// name of a namespace without it
// help: `write helpers::twice`
namespace helpers {
float twice(float x) { return 2 * x; }
}
float forward(float x) { return twice(x); }  // <-

//// member without its object
// help: `needs an object`
struct Gates {
  float gain;
};
float forward(float x) { return gain * x; }  // <-

//// else after two statements
// help: `There is no if for this else`
float forward(float x) {
  if (x > 0)
    x = 1;
    x = 2;
  else  // <-
    x = 3;
  return x;
}

//// header of CUDA in the cpp text
// head: none
// help: `comes with CUDA`
#include <cuda_runtime.h>  // <-

//// tensor without any header
// head: none
// help: `#include <ATen/ATen.h>`
at::Tensor forward(const at::Tensor& x) {  // <-
  return x;
}

//// pragma without omp
// help: `#pragma omp parallel`
// warns: yes
void forward(float* y, int n) {
#pragma parallel for  // <-
  for (int i = 0; i < n; ++i) y[i] = 0;
}

//// zero of another type in a dispatch
// head: tensors
// help: `std::max<scalar_t>`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    auto p = x.mutable_data_ptr<scalar_t>();
    p[0] = std::max(p[0], 0.0f);  // <-
  });
}

//// macro of several lines
// help: `a backslash`
#define SUM(s, n)
for (int i = 0; i < n; ++i) s += i;  // <-

//// dependent template call
// help: `box.template data<T>`
struct Box {
  template <class T> const T* data() const { return nullptr; }
};
template <class B, class T>
T first(const B& box, int i) {
  const T* p = box.data<T>();  // <-
  return p[i];
}
float forward(const Box& b) { return first<Box, float>(b, 0); }

//// typedef the wrong way round
// help: `typedef float real`
typedef real float;  // <-
float forward(const float* x) {
  real v = x[0];
  return v;
}

//// sum as in numpy
// help: `C++ has no function 'sum'`
float forward(float a, float b) {
  return sum(a, b);  // <-
}

//// header of no library
// head: none
// help: `finds no header of this name`
#include <helpers_of_mine.h>  // <-

//// pragma of a library that is not known
// help: `does not know it`
// warns: yes
void forward(float* y, int n) {
#pragma openmp parallel for  // <-
  for (int i = 0; i < n; ++i) y[i] = 0;
}

//// order with one parameter
// help: `must take 2 arguments`
#include <algorithm>
void forward(float* x, int n) {
  std::sort(x, x + n, [](float a) { return a > 0; });  // <-
}

//// return out of a dispatch
// head: tensors
// help: `leaves the lambda of the dispatch alone`
int64_t forward(const at::Tensor& x) {
  return AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    if (x.dim() > 1) return 1.0f;
    return scalar_t(0);  // <-
  });
}

//// lambda of two types in a dispatch
// head: tensors
// help: `-> scalar_t`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    auto sign = [](scalar_t v) {
      if (v > 0) return 1.0;
      return 0.0f;  // <-
    };
    x.mutable_data_ptr<scalar_t>()[0] = sign(1);
  });
}

//// body under a misspelt name
// stage: link
// help: `Did you mean 'gaet', which has a body?`
float gate(float z);
float gaet(float z) { return z / 2; }
float forward(float z) {
  return gate(z);  // <-
}

//// declared too late in a lambda
// help: `too late for this line`
template <class F> void each(int n, F f) { for (int i = 0; i < n; ++i) f(i); }
void forward(float* y, int n) {
  each(n, [&](int i) {
    y[i] = scaled;  // <-
    float scaled = 2;
  });
}
