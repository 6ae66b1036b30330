//// missing semicolon
// help: `';'`
void forward(const float* x, float* y, int n) {
  float scale = 2.0f  // <-
  for (int i = 0; i < n; ++i) y[i] = scale * x[i];
}

//// missing semicolon before a brace
// help: `';'`
float half(float x) {
  return x / 2  // <-
}

//// missing semicolon after a struct
// help: `';'`
struct Gates {
  float i, o, c;
}  // <-

float sum(const Gates& g) { return g.i + g.o + g.c; }

//// misspelt variable
// help: `'gate'`
float forward(float gate, int rows) {
  float total = 0;
  for (int r = 0; r < rows; ++r) total += gtae;  // <-
  return total;
}

//// misspelt function of std
// help: `Did you mean 'tanh'`
float forward(float z) {
  return (1 + std::tanhh(z / 2)) / 2;  // <-
}

//// misspelt declaration
// help: `'toatl'` `line 6`
float gate(float total) { return total; }
float forward(float x, float y) {
  float toatl = x + y;
  total *= 2;  // <-
  return total;
}

//// variable outside its loop
// help: `'sum'` `{ }`
float forward(const float* x, int n) {
  for (int row = 0; row < n; ++row) {
    float sum = x[row];
  }
  return sum;  // <-
}

//// forgotten std:: on a type
// help: `std::vector`
#include <vector>
int forward(int n) {
  vector<float> v(n);  // <-
  return v.size();
}

//// forgotten std:: on a function
// help: `std::max`
#include <algorithm>
int forward(int n) {
  return max(n, 3);  // <-
}

//// missing include of vector
// head: none
// help: `#include <vector>`
#include <cmath>
float forward(int n) {
  std::vector<float> v(n);  // <-
  return v[0];
}

//// missing include of algorithm
// head: none
// help: `#include <algorithm>`
#include <cmath>
float forward(float* x, int n) {
  std::sort(x, x + n);  // <-
  return x[0];
}

//// misspelt include
// head: none
// help: `#include <vector>`
#include <cmath>
#include <vectr>  // <-
float forward(float x) { return std::tanh(x); }

//// wrong number of arguments
// help: `'gate'` `2 arguments`
float gate(float z, float bias) { return z + bias; }

float forward(float z) {
  return gate(z);  // <-
}

//// too many arguments to a lambda
// help: `'gate' takes 1 argument, this call gives 2`
float forward(float z) {
  auto gate = [](float a) { return a; };
  return gate(z, 1.0f);  // <-
}

//// double pointer for a float pointer
// help: `float*` `double*`
void gate(float* y, int n) { y[0] = n; }

void forward(double* y, int n) {
  gate(y, n);  // <-
}

//// const dropped
// help: `const`
void forward(const float* x, int n) {
  float* y = x;  // <-
  y[0] = n;
}

//// assignment to const
// help: `const`
int forward(const int n) {
  const int half = n / 2;
  half = 3;  // <-
  return half;
}

//// write through a pointer to const
// help: `const`
void forward(const float* x, int n) {
  for (int i = 0; i < n; ++i) x[i] = 0;  // <-
}

//// missing return
// help: `return`
// warns: yes
float forward(float x) {
  float y = std::tanh(x);
}  // <-

//// narrowing in braces
// help: `static_cast<int>`
// warns: yes
struct Size { int rows; };
int forward(double x) {
  Size size{x};  // <-
  return size.rows;
}

//// missing closing brace
// help: `'}'`
float forward(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {  // <-
    sum += x[i];
  return sum;
}

float backward(float x) {
  return x;
}

//// missing closing brace of a function
// help: `'}'`
float forward(float x) {  // <-
  return x;

float backward(float x) {
  return x;
}

//// brace too many
// help: `'}'`
float forward(float x) {
  return x;
}
}  // one too many  // <-

//// missing closing parenthesis
// help: `')'`
float forward(float x) {
  float y = std::tanh(0.5f * (x + 1);  // <-
  return y;
}

//// parenthesis too many
// help: `')'`
float forward(float x) {
  float y = std::tanh(x));  // <-
  return y;
}

//// assignment in a condition
// help: `==`
// warns: yes
int forward(int n) {
  if (n = 0) return 1;  // <-
  return n;
}

//// unknown type
// help: `'float'`
void forward(flot* x, int n) {  // <-
  x[0] = n;
}

//// variable declared twice
// help: `line 5`
int forward(int n) {
  int half = n / 2;
  int half = n / 3;  // <-
  return half;
}

//// function defined twice
// help: `line 4`
float gate(float z) { return z; }
float gate(float z) { return z + 1; }  // <-

//// missing quote
// help: `quote`
#include <cstdio>
void forward(int n) {
  std::printf("n = %d, n);  // <-
}

//// no-break space
// help: `U+00A0` `NO-BREAK SPACE`
float forward(float x) {
  float y =\N{NO-BREAK SPACE}x;  // <-
  return y;
}

//// zero-width space
// help: `U+200B`
float forward(float rate) {
  float y = ra\N{ZERO WIDTH SPACE}te;  // <-
  return y;
}

//// typographic quotes
// help: `U+201C`
#include <cstdio>
void forward() {
  std::puts(\N{LEFT DOUBLE QUOTATION MARK}done\N{RIGHT DOUBLE QUOTATION MARK});  // <-
}

//// std::max of two types
// help: `std::max<int64_t>`
#include <algorithm>
int64_t forward(int64_t n) {
  return std::max(n, 1);  // <-
}

//// remainder of floats
// help: `std::fmod`
float forward(float x) {
  return x % 2;  // <-
}

//// dot on a pointer
// help: `->`
struct Gates { float i; };
float forward(const Gates* g) {
  return g.i;  // <-
}

//// value from a void function
// help: `void`
void forward(float x) {
  return x;  // <-
}

//// else without if
// help: `Take this ';' away`
float forward(float x) {
  if (x > 0);  // <-
    return x;
  else
    return 0;
}

//// unterminated comment
// help: `*/`
float forward(float x) {
  /* scale it  // <-
  return x;
}

//// endif forgotten
// help: `#endif`
#ifdef FAST  // <-
float forward(float x) { return x; }

//// call of a number
// help: `*`
float forward(float x) {
  return 2 (x + 1);  // <-
}

//// function that is nowhere, at link
// help: `body`
// stage: link
float gate(float z);

float forward(float z) {
  return gate(z);  // <-
}

//// function that is nowhere, at load
// help: `body`
// stage: load
float gate(float z);

float forward(float z) {
  return gate(z);  // <-
}

//// no forward
// head: none
// help: `'forward'`
// binding: call
#include <ATen/core/Tensor.h>
at::Tensor foward(const at::Tensor& x) {  // <-
  return x;
}

//// forward with another number of arguments
// head: tensors
// help: `signature` `forward`
// binding: call
at::Tensor forward(const at::Tensor& x, const at::Tensor& weights) {  // <-
  return x;
}

//// forward with another type of argument
// head: tensors
// help: `signature` `forward`
// binding: call
at::Tensor forward(const float* x) {  // <-
  return at::Tensor();
}

//// forward that returns a vector
// head: tensors
// help: `signature` `returns`
// binding: call
#include <vector>
std::vector<double> forward(const at::Tensor& x) {  // <-
  return {1, 2};
}

//// unknown function of at
// head: tensors
// help: `at::sigmoid'`
#include <ATen/ops/sigmoid.h>
at::Tensor forward(const at::Tensor& x) {
  return at::sigmoidd(x);  // <-
}

//// function of at that was not included
// head: tensors
// help: `#include <ATen/ops/relu.h>`
at::Tensor forward(const at::Tensor& x) {
  return at::relu(x);  // <-
}

//// forgotten at:: on a type
// head: tensors
// help: `at::Tensor`
Tensor forward(const at::Tensor& x) {  // <-
  return x;
}

//// forgotten at:: on a function
// head: tensors
// help: `at::zeros`
#include <ATen/ops/zeros.h>
at::Tensor forward(const at::Tensor& x) {
  return zeros({2, 3});  // <-
}

//// torch:: without its header
// head: tensors
// help: `at::Tensor`
torch::Tensor forward(torch::Tensor x) {  // <-
  return x;
}

//// unknown member of Tensor
// head: tensors
// help: `'size'`
int64_t forward(const at::Tensor& x) {
  return x.sizee(0);  // <-
}

//// shape as in Python
// head: tensors
// help: `x.size(0)`
int64_t forward(const at::Tensor& x) {
  return x.shape[0];  // <-
}

//// data_ptr without a type
// head: tensors
// help: `data_ptr<`
void forward(const at::Tensor& x) {
  float* p = x.data_ptr();  // <-
  p[0] = 1;
}

//// write through const_data_ptr
// head: tensors
// help: `mutable_data_ptr`
void forward(const at::Tensor& x) {
  float* p = x.const_data_ptr<float>();  // <-
  p[0] = 1;
}

//// data<T>, deprecated
// head: tensors
// help: `data_ptr<`
// warns: yes
float forward(const at::Tensor& x) {
  float* p = x.data<float>();  // <-
  return p[0];
}

//// type() in a dispatch
// head: tensors
// help: `x.scalar_type()`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.type(), "forward", [&] {  // <-
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}

//// forgotten lambda capture
// head: tensors
// help: `line 6` `[&]`
void forward(const at::Tensor& x, int n) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [] {  // <-
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}

//// missing semicolon in a dispatch
// head: tensors
// help: `';'`
void forward(const at::Tensor& x, int n) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>()  // <-
    for (int i = 0; i < n; ++i) p[i] = 1;
  });
}

//// misspelt variable in a dispatch
// head: tensors
// help: `'count'`
void forward(const at::Tensor& x, int count) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    for (int i = 0; i < cuont; ++i) p[i] = 1;  // <-
  });
}

//// missing brace in a dispatch
// head: tensors
// help: `'}'`
void forward(const at::Tensor& x, int n) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    for (int i = 0; i < n; ++i) {  // <-
      p[i] = 1;
  });
}

//// missing parenthesis of a dispatch
// head: tensors
// help: `')'`
void forward(const at::Tensor& x, int n) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    p[0] = n;
  };  // <-
}

void backward(int n) {}

//// dispatch without a name
// head: tensors
// help: `name`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), [&] {  // <-
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}

//// misspelt dispatch
// head: tensors
// help: `AT_DISPATCH_FLOATING_TYPES`
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPE(x.scalar_type(), "forward", [&] {  // <-
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}

//// scalar_t outside a dispatch
// head: tensors
// help: `AT_DISPATCH_FLOATING_TYPES`
void forward(const at::Tensor& x) {
  scalar_t* p = x.mutable_data_ptr<scalar_t>();  // <-
  p[0] = 1;
}

//// number returned for a tensor
// head: tensors
// help: `returns`
at::Tensor forward(const at::Tensor& x) {
  return x.size(0);  // <-
}

//// member of a number, inside a template
// head: tensors
// help: `float`
template <typename T>
T pick(const at::Tensor& x, T fallback) { return x.numel() ? x.const_data_ptr<T>()[0] : fallback.value; }  // <-

float forward(const at::Tensor& x) {
  return pick(x, 1.0f);
}

//// misspelt type of std
// help: `'vector'`
#include <vector>
float forward(int n) {
  std::vectr<float> v(n);  // <-
  return v[0];
}

//// power as in Python
// help: `std::pow`
float forward(float x, float n) {
  return x ** n;  // <-
}

//// None as in Python
// help: `nullptr`
const float* forward() {
  return None;  // <-
}

//// elif as in Python
// help: `else if`
float forward(float x) {
  if (x > 1) {
    return 1;
  } elif (x > 0) {  // <-
    return 0;
  }
  return x;
}

//// function used before its definition
// help: `line 8`
float forward(float x) {
  return gate(x);  // <-
}

float gate(float x) { return x; }

//// sort of things without an order, an error inside a header
// help: `operator`
#include <algorithm>
#include <vector>
struct Row { float value; };
void forward(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end());  // <-
}

//// index into a number
// help: `[ ]`
float forward(float x) {
  return x[0];  // <-
}

//// assignment to a value
// help: `cannot be assigned`
int size(int n) { return n; }
void forward(int n) {
  size(n) = 3;  // <-
}

//// condition without its closing parenthesis
// help: `')'`
float forward(float x) {
  if (x > 0 {  // <-
    return x;
  }
  return 0;
}

//// macro with another number of arguments
// help: `macro`
#define SQUARE(a) ((a) * (a))
float forward(float x, float y) {
  return SQUARE(x, y);  // <-
}

//// operand missing
// help: `missing here`
float forward(float x) {
  return x * ;  // <-
}

//// return without a value
// help: `return`
float forward(float x) {
  if (x < 0) return;  // <-
  return x;
}

//// declared twice with another type
// help: `line 5`
float forward(float x) {
  float scale = 2;
  double scale = 3;  // <-
  return x * scale;
}

//// arrow on an object
// help: `dot`
struct Gates { float i; };
float forward(Gates g) {
  return g->i;  // <-
}

//// typographic minus
// help: `U+2212`
float forward(float x) {
  return x \N{MINUS SIGN} 1;  // <-
}

//// pragma misspelt
// help: `#pragma omp`
// warns: yes
void forward(float* x, int n) {
#pragma opm parallel for  // <-
  for (int i = 0; i < n; ++i) x[i] = 0;
}

//// operator on tensors without its header
// head: tensors
// help: `#include <ATen/ATen.h>`
at::Tensor forward(const at::Tensor& x) {
  return x + x;  // <-
}

//// assignment to a const tensor
// head: tensors
// help: `const`
#include <ATen/ops/zeros.h>
at::Tensor forward(const at::Tensor& x) {
  x = at::zeros({2, 3});  // <-
  return x;
}

//// parallel_for with a lambda of one argument
// head: tensors
// help: `int64_t begin` `end`
#include <ATen/Parallel.h>
void forward(float* x, int64_t n) {
  at::parallel_for(0, n, 1, [&](int64_t i) {  // <-
    x[i] = 0;
  });
}

//// misspelt type of at
// head: tensors
// help: `at::Tensor'`
at::Tensor forward(const at::Tensr& x) {  // <-
  return x;
}
