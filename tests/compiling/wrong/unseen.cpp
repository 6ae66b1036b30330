//// const object, method without const
// help: `'get' may change it` `write const`
struct Gate {
  float v;
  float get() { return v; }
};
float forward(const Gate& g) {
  return g.get();  // <-
}

//// const vector for a vector&
// help: `const ...&`
#include <vector>
void fill(std::vector<float>& v) { v[0] = 1; }
void forward(const std::vector<float>& v) {
  fill(v);  // <-
}

//// value for a pointer, & forgotten
// help: `& in front`
void twice(float* y) { *y *= 2; }
float forward(float x) {
  twice(x);  // <-
  return x;
}

//// auto& of a call
// head: tensors
// help: `take the & away`
int64_t forward(const at::Tensor& x) {
  auto& n = x.size(0);  // <-
  return n;
}

//// max of three
// help: `std::max({a, b, c})`
#include <algorithm>
float forward(float a, float b, float c) {
  return std::max(a, b, c);  // <-
}

//// std::array of a variable size
// help: `std::vector<float> v(n)`
#include <array>
float forward(int n) {
  std::array<float, n> row;  // <-
  row[0] = 1;
  return row[0];
}

//// f-string
// help: `is Python`
#include <iostream>
void forward(float x) {
  std::cout << f"x = {x}";  // <-
}

//// = in a define
// help: `'='` `'SIZE'`
#define SIZE = 16  // <-
float forward(float x) {
  float row[SIZE];
  row[0] = x;
  return row[0];
}

//// blank in a macro's head
// help: `blank` `'SQUARE'`
#define SQUARE (a) ((a) * (a))  // <-
float forward(float x) {
  return SQUARE(x);
}

//// statement outside of a function
// help: `inside a function`
float scale;
scale = 2;  // <-
float forward(float x) { return scale * x; }

//// brace too many in the middle
// help: `Take away this '}'`
float forward(float x) {
  if (x > 0) {
    x = 1;
  }
  }  // <-
  return x;
}

//// sizes as a vector
// head: tensors
// help: `.vec()`
#include <vector>
int64_t forward(const at::Tensor& x) {
  std::vector<int64_t> s = x.sizes();  // <-
  return s[0];
}

//// lambda by copy that writes
// help: `[&]`
float forward(const float* x, int n) {
  float sum = 0;
  auto add = [=](int i) { sum += x[i]; };  // <-
  for (int i = 0; i < n; ++i) add(i);
  return sum;
}

//// iterator for its value
// help: `*it`
#include <vector>
float forward(const std::vector<float>& v) {
  float s = 0;
  for (auto it = v.begin(); it != v.end(); ++it) s += it;  // <-
  return s;
}

//// operator on an optional tensor
// head: tensors
// help: `has_value()` `*x`
#include <optional>
#include <ATen/ATen.h>
at::Tensor forward(const at::Tensor& x, const std::optional<at::Tensor>& bias) {
  return x + bias;  // <-
}

//// push to a const vector of tensors
// head: tensors
// help: `'push_back' may change it`
#include <vector>
void forward(const std::vector<at::Tensor>& xs, const at::Tensor& x) {
  xs.push_back(x);  // <-
}

//// types in a call
// help: `without their types`
float gate(float a, int n) { return a * n; }
float forward(float x) {
  return gate(float x, int 2);  // <-
}

//// parameter without its type
// help: `type of its own`
float forward(float a, b) {  // <-
  return a + b;
}

//// for with three semicolons
// help: `two ';'`
void forward(float* x, int n) {
  for (int i = 0; i < n; ++i;) x[i] = 0;  // <-
}

//// two conditions without common ( )
// help: `one more pair of ( )`
float forward(float a, float b) {
  if (a > 0) && (b > 0) return a;  // <-
  return b;
}

//// else with a condition
// help: `else if`
float forward(float x) {
  if (x > 0) {
    return 1;
  } else (x < 0) {  // <-
    return -1;
  }
  return 0;
}

//// static member that is nowhere
// help: `inline in front of static`
// stage: load
struct Counter { static int calls; };
int forward(int n) {
  Counter::calls += n;  // <-
  return Counter::calls;
}

//// object declared with ()
// help: `declared as a function`
struct Gate { float v = 1; };
float forward(float x) {
  Gate g();
  return g.v * x;  // <-
}

//// enumerator without its type
// help: `Mode::Relu`
enum class Mode { Relu, Tanh };
int forward(int n) {
  Mode m = Relu;  // <-
  return m == Mode::Tanh ? n : 0;
}

//// word of C++ as a name
// help: `'new' is a word of C++`
float forward(float x) {
  float new = 2 * x;  // <-
  return new;
}

//// hyphen in a name
// help: `d_x`
float forward(float x) {
  float d-x = 2 * x;  // <-
  return x;
}

//// pointer times a number
// help: `is a pointer` `[ ]`
void forward(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2 * x;  // <-
}

//// three tensors for two
// head: tensors
// help: `holds 2 values` `these are 3`
#include <tuple>
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x) {
  return {x, x, x};  // <-
}

//// dispatch without [&]
// head: tensors
// help: `[&]`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", {  // <-
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}

//// forward in a namespace
// head: tensors
// help: `using lltm::forward;`
// binding: call
namespace lltm {
at::Tensor forward(const at::Tensor& x) {  // <-
  return x;
}
}

//// default argument twice
// help: `leave it out here`
float half(float x, float by = 2);
float half(float x, float by = 2) { return x / by; }  // <-

//// Python's // cuts a statement short
// help: `// begins a comment`
int forward(int n) {
  int half = n // 2;  // <-
  return half;
}

//// a dtype as a method, as in Python
// head: tensors
// help: `x.to(at::kDouble)`
at::Tensor forward(const at::Tensor& x) {
  return x.double() * 2;  // <-
}

//// a variable of forward in backward
// help: `belongs to forward` `saves=("scale",)`
float forward(float x) {
  float scale = 2;
  return scale * x;
}
float backward(float d_y) {
  return scale * d_y;  // <-
}

//// a struct without its ';' before forward
// head: tensors
// help: `ends with '};'`
struct Scale {
  double by = 2;
}  // <-

at::Tensor forward(const at::Tensor& x) {
  return Scale().by * x;
}

//// a loop over a number
// help: `how many values`
float forward(int n) {
  float x = 0;
  for (int i : n) x += i;  // <-
  return x;
}

//// values for an array of unknown length
// help: `std::vector`
// only: clang++
float forward(int n) {
  float row[n] = {0};  // <-
  return row[0];
}

//// a template inside a function
// help: `outside of functions`
float forward(float x) {
  template <typename T> T half(T y) { return y / 2; }  // <-
  return half(x);
}

//// two colons behind an object
// help: `dot` `x.size`

#include <vector>
size_t forward(std::vector<float> x) {
  return x::size();  // <-
}

//// a dot behind a type
// help: `'::'` `std::numeric_limits<float>::max`

#include <limits>
float forward(float x) {
  float best = std::numeric_limits<float>.max();  // <-
  return best;
}

//// numeric_limits without its type
// help: `std::numeric_limits<float>::max`

#include <limits>
float forward(float x) {
  float best = std::numeric_limits::max();  // <-
  return best;
}

//// infinity without ()
// help: `not called`

#include <limits>
float forward(float x) {
  float best = -std::numeric_limits<float>::infinity;  // <-
  return best;
}

//// two indices into a pointer
// help: `p[i * columns + j]`
float forward(float* p, int i, int j) {
  return p[i][j];  // <-
}

//// the address of a call
// help: `leave the & away`
float half() { return 1; }
float forward() {
  float* p = &half();  // <-
  return *p;
}

//// a const method that writes
// help: `const after the ( )`
struct Sum {
  float s = 0;
  void add(float x) const { s += x; }  // <-
};

//// a unique_ptr copied
// help: `std::move(p)`

#include <memory>
float forward(int n) {
  auto p = std::make_unique<float[]>(n);
  auto q = p;  // <-
  return q[0];
}

//// a member of a tuple
// help: `std::get<0>(t)`

#include <tuple>
float forward(std::tuple<float, float> t) {
  return t.first;  // <-
}

//// an enum without its ';'
// help: `'};'`
enum Mode { Relu, Tanh }  // <-
int forward(int n) { return n; }

//// a value that is called
// help: `take its ( ) away`

#include <utility>
float forward(std::pair<float, float> p) {
  return p.first();  // <-
}

//// a plain function called with < >
// help: `no template`
float half(const float* a) { return a[0] / 2; }
float forward(float* x) {
  return half<float>(x);  // <-
}

//// a number of a template that is not known
// help: `known when the text is compiled`
template <int N> float pick(const float* a) { return a[N]; }
float forward(float* x, int n) {
  return pick<n>(x);  // <-
}

//// a blank inside an operator
// help: `Write >=`
int forward(int n) {
  if (n > = 3) return 1;  // <-
  return n;
}

//// a backslash that divides
// help: `/ divides`
float forward(float x) {
  return x \ 2;  // <-
}

//// half a choice
// help: `condition ? value : other`
int forward(int n) {
  int m = n > 3 ? 1;  // <-
  return m;
}

//// a semicolon between arguments
// help: `a ',' separates`
float forward(float x) {
  return std::fmax(x; 2);  // <-
}

//// a semicolon behind the head of a for
// help: `take that ';' away`
float forward(float x) {
  for (int i = 0; i < 3; i++); {
    x += i;  // <-
  }
  return x;
}

//// two letters of a keyword swapped
// help: `'for'`
float forward(float x) {
  fro (int i = 0; i < 3; i++) x += i;  // <-
  return x;
}

//// the type of a parameter after its name
// help: `float x`
float forward(x: float) {  // <-
  return x;
}

//// values taken apart in ( )
// help: `auto [a, b]`

#include <tuple>
float forward(std::tuple<float, float> t) {
  auto (a, b) = t;  // <-
  return a;
}

//// a variable without its type
// help: `begins with its type`
float forward(float x) {
  twice = 2 * x;  // <-
  return twice;
}

//// a conversion without ( )
// help: `int(n)`
int forward(float n) {
  return int n;  // <-
}

//// a function without its first brace
// help: `Add the missing '{'`
float forward(float x)  // <-
  return x;
}

//// a bracket of an index forgotten
// help: `']'`
float forward(float* x, int i) {
  x[i + 1 = x[i];  // <-
  return x[0];
}

//// new for an array
// help: `std::vector<float>`
float forward(int n) {
  float p[] = new float[n];  // <-
  return p[0];
}

//// a cast of a pointer
// help: `does not convert the values`
float forward(double* x) {
  float* y = static_cast<float*>(x);  // <-
  return y[0];
}

//// a number for a pointer
// help: `p[0] = `
void forward(float* p) {
  p = 3.0f;  // <-
}

//// a pointer for a matrix
// help: `p[i * columns + j]`
float corner(float** p) { return p[0][0]; }
float forward(float* p) {
  return corner(p);  // <-
}

//// a function for a number
// help: `not called`
float half() { return 0.5; }
float forward(float x) {
  return x * half;  // <-
}

//// output with its arrows turned round
// help: `written with <<`

#include <iostream>
void forward(int n) {
  std::cout >> n;  // <-
}

//// a function of OpenMP without its header
// help: `#include <omp.h>`
int forward() {
  return omp_get_max_threads();  // <-
}

//// a reduction with a comma
// help: `reduction(+ : s)`
// only: g++
float forward(float* x, int n) {
  float s = 0;
#pragma omp parallel for reduction(+, s)  // <-
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}

//// single quotes around a std::string
// help: `double quotes`

#include <string>
std::string forward() {
  std::string s = 'abc';  // <-
  return s;
}

//// a comma forgotten between braces
// help: `a ',' is missing`
float forward(int i) {
  float y[3] = {1 2, 3};  // <-
  return y[i];
}

//// a variable of type void
// help: `type of its value`
int forward(int n) {
  void m = n;  // <-
  return n;
}

//// a const tensor for what changes it
// head: tensors
// help: `const ...&` `x.clone()`
void scale(at::Tensor& t) { t.mul_(2); }
at::Tensor forward(const at::Tensor& x) {
  scale(x);  // <-
  return x;
}

//// a helper for float in a dispatch
// head: tensors
// help: `'clear' of line 4` `template <typename T>`
void clear(float* p, int64_t n) { p[n - 1] = 0; }
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    clear(x.mutable_data_ptr<scalar_t>(), x.numel());  // <-
  });
}

//// a number for a tensor
// head: tensors
// help: `at::scalar_tensor`
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = 0.0;  // <-
  return y;
}

//// a number assigned to a tensor
// head: tensors
// help: `y.fill_(v)`
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = x.clone();
  y = 0.0;  // <-
  return y;
}

//// all extents for one
// head: tensors
// help: `x.size(0)`
int64_t forward(const at::Tensor& x) {
  int64_t n = x.sizes();  // <-
  return n;
}

//// a dtype compared with a text
// head: tensors
// help: `at::kFloat`
bool forward(const at::Tensor& x) {
  return x.scalar_type() == "float";  // <-
}

//// an accessor with its arguments swapped
// head: tensors
// help: `accessor<float, 2>()`
float forward(const at::Tensor& x) {
  auto a = x.accessor<2, float>();  // <-
  return a[0][0];
}

//// a tensor negated
// head: tensors
// help: `x.defined()`
int forward(const at::Tensor& x) {
  if (!x) return 1;  // <-
  return 0;
}

//// a method by the name of its type
// head: tensors
// help: `x.clone(`
at::Tensor forward(const at::Tensor& x) {
  return at::Tensor::clone();  // <-
}

//// a row of an accessor for a number
// head: tensors
// help: `more dimensions`
float forward(const at::Tensor& x) {
  auto a = x.accessor<float, 2>();
  return std::exp(a[0]);  // <-
}

//// length of a pointer
// head: tensors
// help: `nothing of its length`
int64_t forward(const at::Tensor& x) {
  const float* p = x.const_data_ptr<float>();
  return p.size(0);  // <-
}

//// names of values in a lambda, as clang++ sees them
// head: tensors
// help: `auto v = a`
// only: clang++
at::Tensor forward(const at::Tensor& x) {
  auto [a, b] = std::make_tuple(x, x);
  auto size = [&] { return a.numel(); };  // <-
  return size() ? a : b;
}

//// a pragma inside a dispatch
// head: tensors
// help: `_Pragma`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
#pragma omp parallel for  // <-
    for (int64_t i = 0; i < x.numel(); ++i) p[i] = 0;
  });
}

//// three quotes inside a function
// head: tensors
// help: `/* and */`
at::Tensor forward(const at::Tensor& x) {
  """Gives x back."""  // <-
  return x;
}

//// a dispatch that is not closed
// head: tensors
// help: `add the missing ')'`
at::Tensor forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    x.mutable_data_ptr<scalar_t>()[0] = 0;
  }  // <-
  return x;
}

//// a list returned as in Python
// head: tensors
// help: `braces`
std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& g) {
  return [g, g];  // <-
}

//// a comma in a condition of TORCH_CHECK
// head: tensors
// help: `put ( ) around`

#include <type_traits>
void forward(const at::Tensor& x) {
  TORCH_CHECK(std::is_same<float, double>::value, "no");  // <-
}

//// a dispatch with a loop, closed without its ')'
// head: tensors
// help: `add the missing ')'`
at::Tensor forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); i++) {
      p[i] = 0;
    }
  };  // <-
  return x;
}

//// a star that is for the first name alone
// head: tensors
// help: `In line 6 the *`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    scalar_t* p, q;
    p = x.mutable_data_ptr<scalar_t>();
    q = x.mutable_data_ptr<scalar_t>();  // <-
    p[0] = q[0];
  });
}

//// a function of std with a capital letter
// help: `'std::max'`
float forward(float x) {
  return Max(x, 0.0f);  // <-
}

//// a sum of std
// help: `std::accumulate`
float forward(const float* p, int n) {
  return std::sum(p, p + n);  // <-
}

//// is None as in Python
// help: `p == nullptr`
float forward(const float* p) {
  if (p is not None) return p[0];  // <-
  return 0;
}

//// a method of a type
// help: `Sum g;`
struct Sum { float s = 0; };
float forward(float x) {
  Sum.s = x;  // <-
  return x;
}

//// a template of scalar_t without typename
// help: `<typename scalar_t>`
template <scalar_t>  // <-
scalar_t twice(scalar_t v) { return 2 * v; }
