"""More wrong kernel texts, of the kinds that students ask about in public forums: each with its line and the help it owes."""

from __future__ import annotations

from tests.compiling.mistakes import CALL, aten, light

STUDENTS = (
    # Names and headers
    aten(
        "a function of std for a tensor",
        """
at::Tensor forward(const at::Tensor& x) {
  return exp(x);
}
""",
        "return exp",
        "at::exp",
        "<ATen/ops/exp.h>",
    ),
    aten(
        "std:: in front of a function for a tensor",
        """
at::Tensor forward(const at::Tensor& x) {
  return std::sqrt(x);
}
""",
        "return std::sqrt",
        "at::sqrt",
    ),
    light(
        "a header of std that is not in any list",
        """
float forward(float x) {
  std::deque<float> waiting;
  waiting.push_back(x);
  return waiting.front();
}
""",
        "std::deque",
        "#include <deque>",
    ),
    light(
        "random numbers without their header",
        """
float forward(int seed) {
  std::mt19937 generator(seed);
  return generator();
}
""",
        "std::mt19937",
        "#include <random>",
    ),
    light(
        "a stream that is only declared",
        """#include <vector>
#include <string>
std::string forward(float x) {
  std::ostringstream text;
  text << x;
  return text.str();
}
""",
        "std::ostringstream",
        "#include <sstream>",
    ),
    light(
        "largest float without its header",
        """
float forward(const float* x) {
  float best = -FLT_MAX;
  return x[0] > best ? x[0] : best;
}
""",
        "float best",
        "#include <cfloat>",
    ),
    light(
        "null in small letters",
        """
const float* forward() {
  return null;
}
""",
        "return null",
        "nullptr",
    ),
    light(
        "a counter without its type",
        """
void forward(float* x, int n) {
  for (i = 0; i < n; i++) x[i] = 0;
}
""",
        "for (i",
        "int64_t i = ",
    ),
    light(
        "a single colon for two",
        """#include <vector>
float forward(int n) {
  std:vector<float> v(n);
  return v[0];
}
""",
        "std:vector",
        "'::'",
    ),
    light(
        "a dot behind a namespace",
        """
float forward(float x) {
  return std.sqrt(x);
}
""",
        "return std.sqrt",
        "'::'",
    ),
    aten(
        "torch with a dot",
        """
at::Tensor forward(const at::Tensor& x) {
  return torch.exp(x);
}
""",
        "return torch.exp",
        "at::",
    ),
    aten(
        "dtype of another name",
        """#include <ATen/ops/empty.h>
at::Tensor forward(int64_t n) {
  return at::empty({n}, at::kFloat32);
}
""",
        "return at::empty",
        "at::kFloat",
    ),
    # Tensors taken for pointers and numbers
    aten(
        "an element of a tensor for a number",
        """
float forward(const at::Tensor& x) {
  float first = x[0];
  return first;
}
""",
        "float first",
        "data_ptr<float>()",
        "tensor",
    ),
    aten(
        "a tensor for a pointer",
        """
void forward(const at::Tensor& x) {
  const float* p = x;
  (void)p;
}
""",
        "const float* p",
        "data_ptr<float>()",
    ),
    aten(
        "star in front of a tensor",
        """
float forward(const at::Tensor& x) {
  return *x;
}
""",
        "return *x",
        "data_ptr<",
    ),
    aten(
        "arrow on a tensor",
        """
int64_t forward(const at::Tensor& x) {
  return x->numel();
}
""",
        "return x->numel",
        "dot",
    ),
    aten(
        "a sum that stays a tensor",
        """
float forward(const at::Tensor& x) {
  float total = x.sum();
  return total;
}
""",
        "float total",
        "item<float>()",
    ),
    aten(
        "an accessor with a comma",
        """
float forward(const at::Tensor& x) {
  auto a = x.accessor<float, 2>();
  float first = a[0, 1];
  return first;
}
""",
        "float first",
        "a[i][j]",
    ),
    aten(
        "an accessor without its dimensions",
        """
float forward(const at::Tensor& x) {
  auto a = x.accessor<float>();
  return a[0];
}
""",
        "auto a",
        "accessor<float, 2>()",
    ),
    aten(
        "extents without braces",
        """#include <ATen/ops/zeros.h>
at::Tensor forward(int64_t n) {
  return at::zeros(n, n);
}
""",
        "return at::zeros",
        "{",
        "}",
    ),
    aten(
        "size without its dimension",
        """
int64_t forward(const at::Tensor& x) {
  return x.size();
}
""",
        "return x.size",
        "size(0)",
    ),
    aten(
        "dtype in a dispatch",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.dtype(), "forward", [&] {
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}
""",
        "AT_DISPATCH_FLOATING_TYPES",
        "x.scalar_type()",
    ),
    # Methods without their ()
    aten(
        "numel without ()",
        """
int64_t forward(const at::Tensor& x) {
  int64_t n = x.numel;
  return n;
}
""",
        "int64_t n",
        "numel()",
    ),
    light(
        "size of a vector without ()",
        """#include <vector>
int forward(const std::vector<float>& v) {
  return v.size / 2;
}
""",
        "return v.size",
        "size()",
    ),
    aten(
        "data_ptr without ()",
        """
void forward(const at::Tensor& x) {
  float* p = x.mutable_data_ptr<float>;
  p[0] = 1;
}
""",
        "float* p",
        "mutable_data_ptr<float>()",
    ),
    aten(
        "data_ptr without () in a dispatch",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>;
    p[0] = 1;
  });
}
""",
        "scalar_t* p",
        "()",
    ),
    aten(
        "an extent in square brackets",
        """
int64_t forward(const at::Tensor& x) {
  return x.size[0];
}
""",
        "return x.size",
        "size(0)",
    ),
    # Python
    light(
        "single quotes around a string",
        """#include <cstdio>
void forward() {
  std::puts('done');
}
""",
        "std::puts",
        '"',
    ),
    aten(
        "single quotes in a dispatch",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), 'forward', [&] {
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}
""",
        "AT_DISPATCH_FLOATING_TYPES",
        '"',
    ),
    light(
        "whole division as in Python",
        """
int forward(int n) {
  int half = n // 2;
  return half;
}
""",
        "int half",
        "//",
        "comment",
    ),
    light(
        "condition as in Python",
        """
float forward(float x) {
  float y = 1 if x > 0 else 2;
  return y;
}
""",
        "float y",
        "? ",
    ),
    light(
        "if without parentheses",
        """
float forward(float x) {
  if x > 0 {
    return x;
  }
  return 0;
}
""",
        "if x",
        "( )",
    ),
    light(
        "for as in Python",
        """
float forward(const float* x, int n) {
  float sum = 0;
  for i in range(n):
    sum += x[i];
  return sum;
}
""",
        "for i",
        "for (int64_t i = 0; i < n; ++i)",
    ),
    light(
        "if with a colon",
        """
float forward(float x) {
  if (x > 0):
    return x;
  return 0;
}
""",
        "if (x",
        "':'",
    ),
    light(
        "comment as in Python",
        """
float forward(float x) {
  # scale it
  return 2 * x;
}
""",
        "# scale",
        "//",
    ),
    light(
        "import as in Python",
        """
import math
float forward(float x) { return std::tanh(x); }
""",
        "import math",
        "#include",
    ),
    light(
        "def as in Python",
        """
def forward(float x) {
  return x;
}
""",
        "def forward",
        "Python",
    ),
    light(
        "two values as in Python",
        """#include <tuple>
std::tuple<float, float> forward(float x) {
  return x, 2 * x;
}
""",
        "return x",
        "{",
        "}",
    ),
    light(
        "a name of a namespace that does not have it",
        """
float forward(float x) {
  return std::quantile(x);
}
""",
        "return std::quantile",
        "No header that is included has std::quantile",
    ),
    aten(
        "slice as in Python",
        """
at::Tensor forward(const at::Tensor& x) {
  return x[1:3];
}
""",
        "return x[1",
        "slice",
    ),
    # Comments, brackets, commas
    light(
        "comment that another one closes",
        """
/* the gate
float gate(float x) { return x; }

/* the cell */
float forward(float x) { return gate(x); }
""",
        "/* the gate",
        "*/",
    ),
    light(
        "semicolon behind a function's head",
        """
float forward(float x); {
  return x;
}
""",
        "float forward",
        "';'",
    ),
    light(
        "commas in a for",
        """
void forward(float* x, int n) {
  for (int i = 0, i < n, ++i) x[i] = 0;
}
""",
        "for (int i",
        "three parts",
    ),
    light(
        "comma between arguments forgotten",
        """
float gate(float a, float b) { return a * b; }
float forward(float x, float y) {
  return gate(x y);
}
""",
        "return gate",
        "','",
    ),
    light(
        "decimal comma",
        """
float forward(float x) {
  float rate = 0,5;
  return rate * x;
}
""",
        "float rate",
        "0.5",
    ),
    light(
        "number written onto a name",
        """
float forward(float x) {
  return 2x + 1;
}
""",
        "return 2x",
        "2 * x",
    ),
    light(
        "semicolon in a define",
        """
#define SIZE 16;
float forward(float x) {
  float row[SIZE];
  row[0] = x;
  return row[0];
}
""",
        "#define SIZE",
        "';'",
        "'SIZE'",
    ),
    light(
        "function inside a function",
        """
float forward(float x) {
  float gate(float z) {
    return z / 2;
  }
  return gate(x);
}
""",
        "float gate",
        "auto gate = [",
    ),
    light(
        "function without its type",
        """
forward(float x) {
  return;
}
""",
        "forward(float",
        "type",
    ),
    light(
        "auto without a value",
        """
float forward(float x) {
  auto y;
  y = x;
  return y;
}
""",
        "auto y",
        "give 'y' one",
    ),
    light(
        "memory without its type",
        """#include <cstdlib>
float forward(int n) {
  float* p = malloc(n * sizeof(float));
  return p[0];
}
""",
        "float* p",
        "static_cast<float*>",
    ),
    light(
        "reference to a value",
        """
void gate(float& x) { x = 2 * x; }
void forward(float x) {
  gate(x + 1);
}
""",
        "gate(x + 1",
        "const",
    ),
    light(
        "two strings added",
        """#include <string>
std::string forward() {
  return "a" + "b";
}
""",
        'return "a"',
        "std::string",
    ),
    light(
        "break outside a loop",
        """
float forward(float x) {
  if (x > 0) break;
  return x;
}
""",
        "if (x",
        "loop",
    ),
    light(
        "template that cannot be deduced",
        """
template <typename T> T half(int n) { return n / T(2); }
float forward(int n) {
  return half(n);
}
""",
        "return half",
        "half<",
    ),
    light(
        "lambda with two types of result",
        """
float forward(float x) {
  auto gate = [](float z) {
    if (z < 0) return 0;
    return z;
  };
  return gate(x);
}
""",
        "return z",
        "-> float",
    ),
    # Dispatch macros and OpenMP
    aten(
        "lambda of a dispatch with a parameter",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&](int64_t n) {
    x.mutable_data_ptr<scalar_t>()[0] = n;
  });
}
""",
        "AT_DISPATCH_FLOATING_TYPES",
        "[&] {",
    ),
    aten(
        "lambda of the wrong arity in a dispatch",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    const auto gate = [](scalar_t a, scalar_t b) { return a * b; };
    x.mutable_data_ptr<scalar_t>()[0] = gate(2);
  });
}
""",
        "x.mutable_data_ptr",
        "'gate' takes 2 arguments, this call gives 1",
    ),
    aten(
        "parallel_for with a lambda of one argument in a dispatch",
        """#include <ATen/Parallel.h>
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, x.numel(), 1, [&](int64_t i) {
      p[i] = 0;
    });
  });
}
""",
        "at::parallel_for",
        "int64_t begin",
        "end",
    ),
    aten(
        "variable of a pragma in a dispatch",
        """
void forward(const at::Tensor& x) {
  const int64_t n = x.numel();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    scalar_t sum = 0;
#pragma omp parallel for reduction(+ : summ)
    for (int64_t i = 0; i < n; ++i) sum += p[i];
    p[0] = sum;
  });
}
""",
        "#pragma omp",
        "'sum'",
        clang=("_Pragma",),
    ),
    light(
        "what is yet to be written",
        """
float forward(float x) {
  float d_x;
  d_x = ...;
  return d_x;
}
""",
        "d_x = ...",
        "yet to be written",
    ),
    # Slips of other kinds
    light(
        "a character in double quotes",
        """
int forward(char c) {
  if (c == "a") return 1;
  return 0;
}
""",
        'if (c == "a") return 1;',
        "'a'",
    ),
    light(
        "while as in Python",
        """
int forward(int n) {
  while n > 0:
    n -= 1;
  return n;
}
""",
        "while n > 0:",
        "( )",
    ),
    light(
        "else with a colon",
        """
int forward(int n) {
  if (n > 0) {
    return 1;
  } else:
    return 0;
}
""",
        "} else:",
        "':'",
    ),
    light(
        "is as in Python",
        """
bool forward(bool a, bool b) {
  return a is b;
}
""",
        "return a is b;",
        "write ==",
    ),
    light(
        "three quotes as in Python",
        """
float forward(float x) {
  '''scale'''
  return x;
}
""",
        "'''scale'''",
        "/*",
    ),
    light(
        "list as in Python",
        """#include <vector>
float forward() {
  std::vector<float> v = [1, 2, 3];
  return v[0];
}
""",
        "std::vector<float> v = [1, 2, 3];",
        "{1, 2, 3}",
    ),
    light(
        "operator forgotten",
        """
float forward(float x, float y) {
  return 2 x + y;
}
""",
        "return 2 x + y;",
        "Ahead of 'x'",
        "operator",
    ),
    light(
        "array for a result",
        """
float[3] forward(float x) {
  return x;
}
""",
        "float[3] forward(float x) {",
        "std::array<float, 3>",
    ),
    light(
        "append to a vector",
        """#include <vector>
float forward(float x) {
  std::vector<float> v;
  v.append(x);
  return v[0];
}
""",
        "v.append(x);",
        "push_back",
    ),
    light(
        "private member",
        """
class G { float i; };
float forward(G g) {
  return g.i;
}
""",
        "return g.i;",
        "public:",
    ),
    light(
        "reference to nothing",
        """
float forward(float x) {
  float& y;
  y = x;
  return y;
}
""",
        "float& y;",
        "where it is declared",
    ),
    light(
        "directive of OpenMP misspelt",
        """
void forward(float* x, int n) {
#pragma omp paralel for
  for (int i = 0; i < n; ++i) x[i] = 0;
}
""",
        "#pragma omp paralel for",
        "#pragma omp parallel",
        warns=True,
        only="g++",
    ),
    light(
        "loop of OpenMP without a limit",
        """
void forward(float* x, int n) {
#pragma omp parallel for
  for (int i = 0; x[i] > 0; ++i) x[i] = 0;
}
""",
        "for (int i = 0; x[i] > 0; ++i) x[i] = 0;",
        "i < n",
        only="g++",
    ),
    light(
        "break in a loop of OpenMP",
        """
void forward(float* x, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    if (x[i] > 0) break;
  }
}
""",
        "if (x[i] > 0) break;",
        "cannot be left",
        only="g++",
    ),
    aten(
        "tensor for a condition",
        """
int forward(const at::Tensor& x) {
  if (x) return 1;
  return 0;
}
""",
        "if (x) return 1;",
        "x.defined()",
    ),
    aten(
        "argument too many for a method",
        """
int64_t forward(const at::Tensor& x) {
  return x.sizes(0);
}
""",
        "return x.sizes(0);",
        "takes no number",
        "x.size(0)",
    ),
    aten(
        "item without its type",
        """
float forward(const at::Tensor& x) {
  return x.sum().item();
}
""",
        "return x.sum().item();",
        ".item<float>()",
    ),
    aten(
        "argument by its name",
        """#include <ATen/ops/zeros.h>
at::Tensor forward(int64_t n) {
  return at::zeros({n}, dtype=at::kFloat);
}
""",
        "return at::zeros({n}, dtype=at::kFloat);",
        "named arguments",
    ),
    aten(
        "comma ahead of a text forgotten",
        """
void forward(const at::Tensor& x) {
  TORCH_CHECK(x.dim() == 2 "two");
}
""",
        'TORCH_CHECK(x.dim() == 2 "two");',
        "','",
    ),
    light(
        "two equals signs for a value",
        """
float forward(float x) {
  float y == x;
  return y;
}
""",
        "float y == x;",
        "single '='",
    ),
    light(
        "tuple without its header",
        """
std::tuple<float, float> forward(float x) {
  return {x, x};
}
""",
        "std::tuple<float, float> forward(float x) {",
        "#include <tuple>",
    ),
    light(
        "too many values in braces",
        """
float forward(const float* x) {
  float y[2] = {1, 2, 3};
  return y[0] + x[0];
}
""",
        "float y[2] = {1, 2, 3};",
        "more values",
    ),
    light(
        "template's line forgotten",
        """
T half(T x) { return x / 2; }
""",
        "T half(T x) { return x / 2; }",
        "template <typename T>",
    ),
    light(
        "angle bracket forgotten",
        """#include <vector>
float forward(int n) {
  std::vector<float v(n);
  return v[0];
}
""",
        "std::vector<float v(n);",
        "'>'",
        only="clang++",
    ),
    light(
        "comparison turned round",
        """
bool forward(int n) {
  return n =< 3;
}
""",
        "return n =< 3;",
        "<=",
    ),
    light(
        "function called with [ ]",
        """
float gate(float x) { return x; }
float forward(float x) {
  return gate[x];
}
""",
        "return gate[x];",
        "( )",
    ),
    light(
        "element taken with ( )",
        """
float forward(const float* x) {
  return x(0);
}
""",
        "return x(0);",
        "[ ]",
    ),
    light(
        "method of a number",
        """
float forward(float x) {
  return x.pow(2);
}
""",
        "return x.pow(2);",
        "std::pow(x",
    ),
    aten(
        "tensors without braces",
        """#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
at::Tensor forward(const at::Tensor& x) {
  return at::cat(x, x);
}
""",
        "return at::cat(x, x);",
        "at::cat({x, x}, 0)",
    ),
    aten(
        "extents of a view without braces",
        """
at::Tensor forward(const at::Tensor& x) {
  return x.view(-1, 2);
}
""",
        "return x.view(-1, 2);",
        "view({-1, 2})",
    ),
    aten(
        "matrix product as in Python",
        """#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
at::Tensor forward(const at::Tensor& x) {
  return x @ x;
}
""",
        "return x @ x;",
        "at::matmul",
    ),
    aten(
        "results taken apart as in Python",
        """
at::Tensor forward(const at::Tensor& x) {
  auto a, b = x.max(0);
  return a;
}
""",
        "auto a, b = x.max(0);",
        "auto [a, b]",
    ),
    aten(
        "float in a dispatch",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] {
    float* p = x.mutable_data_ptr<scalar_t>();
    p[0] = 1;
  });
}
""",
        "float* p = x.mutable_data_ptr<scalar_t>();",
        "scalar_t*",
    ),
    light(
        "variable of a case",
        """
int forward(int n) {
  switch (n) {
    case 1: int a = 2; return a;
    case 2: return 3;
  }
  return 0;
}
""",
        "case 1",
        "{ }",
    ),
    light(
        "default in front of a parameter without",
        """
float forward(float x = 1, float y) {
  return x + y;
}
""",
        "float forward",
        "to the front",
    ),
    light(
        "template without its types",
        """#include <vector>
int forward() {
  std::vector v;
  return v.size();
}
""",
        "std::vector v",
        "std::vector<float>",
    ),
    light(
        "tuple with [ ]",
        """#include <tuple>
float forward(std::tuple<float, int> t) {
  return t[0];
}
""",
        "return t[0]",
        "std::get<0>",
    ),
    light(
        "loop over a pointer",
        """
float forward(const float* x) {
  float s = 0;
  for (float v : x) s += v;
  return s;
}
""",
        "for (float v",
        "how many",
    ),
    # Types, heads and names that were not seen before
    light(
        "const object, method without const",
        """
struct Gate {
  float v;
  float get() { return v; }
};
float forward(const Gate& g) {
  return g.get();
}
""",
        "return g.get",
        "'get' may change it",
        "write const",
    ),
    light(
        "const vector for a vector&",
        """#include <vector>
void fill(std::vector<float>& v) { v[0] = 1; }
void forward(const std::vector<float>& v) {
  fill(v);
}
""",
        "fill(v);",
        "const ...&",
    ),
    light(
        "value for a pointer, & forgotten",
        """
void twice(float* y) { *y *= 2; }
float forward(float x) {
  twice(x);
  return x;
}
""",
        "twice(x)",
        "& in front",
    ),
    aten(
        "auto& of a call",
        """
int64_t forward(const at::Tensor& x) {
  auto& n = x.size(0);
  return n;
}
""",
        "auto& n",
        "take the & away",
    ),
    light(
        "max of three",
        """#include <algorithm>
float forward(float a, float b, float c) {
  return std::max(a, b, c);
}
""",
        "return std::max",
        "std::max({a, b, c})",
    ),
    light(
        "std::array of a variable size",
        """#include <array>
float forward(int n) {
  std::array<float, n> row;
  row[0] = 1;
  return row[0];
}
""",
        "std::array<float, n>",
        "std::vector<float> v(n)",
    ),
    light(
        "f-string",
        """#include <iostream>
void forward(float x) {
  std::cout << f"x = {x}";
}
""",
        "std::cout",
        "is Python",
    ),
    light(
        "= in a define",
        """
#define SIZE = 16
float forward(float x) {
  float row[SIZE];
  row[0] = x;
  return row[0];
}
""",
        "#define SIZE",
        "'='",
        "'SIZE'",
    ),
    light(
        "blank in a macro's head",
        """
#define SQUARE (a) ((a) * (a))
float forward(float x) {
  return SQUARE(x);
}
""",
        "#define SQUARE",
        "blank",
        "'SQUARE'",
    ),
    light(
        "statement outside of a function",
        """
float scale;
scale = 2;
float forward(float x) { return scale * x; }
""",
        "scale = 2",
        "inside a function",
    ),
    light(
        "brace too many in the middle",
        """
float forward(float x) {
  if (x > 0) {
    x = 1;
  }
  }
  return x;
}
""",
        "  }\n  return",
        "Take away this '}'",
    ),
    aten(
        "sizes as a vector",
        """#include <vector>
int64_t forward(const at::Tensor& x) {
  std::vector<int64_t> s = x.sizes();
  return s[0];
}
""",
        "std::vector<int64_t> s",
        ".vec()",
    ),
    light(
        "lambda by copy that writes",
        """
float forward(const float* x, int n) {
  float sum = 0;
  auto add = [=](int i) { sum += x[i]; };
  for (int i = 0; i < n; ++i) add(i);
  return sum;
}
""",
        "auto add",
        "[&]",
    ),
    light(
        "iterator for its value",
        """#include <vector>
float forward(const std::vector<float>& v) {
  float s = 0;
  for (auto it = v.begin(); it != v.end(); ++it) s += it;
  return s;
}
""",
        "for (auto it",
        "*it",
    ),
    aten(
        "operator on an optional tensor",
        """#include <optional>
#include <ATen/ATen.h>
at::Tensor forward(const at::Tensor& x, const std::optional<at::Tensor>& bias) {
  return x + bias;
}
""",
        "return x + bias",
        "has_value()",
        "*x",
    ),
    aten(
        "push to a const vector of tensors",
        """#include <vector>
void forward(const std::vector<at::Tensor>& xs, const at::Tensor& x) {
  xs.push_back(x);
}
""",
        "xs.push_back",
        "'push_back' may change it",
    ),
    light(
        "types in a call",
        """
float gate(float a, int n) { return a * n; }
float forward(float x) {
  return gate(float x, int 2);
}
""",
        "return gate",
        "without their types",
    ),
    light(
        "parameter without its type",
        """
float forward(float a, b) {
  return a + b;
}
""",
        "float forward",
        "type of its own",
    ),
    light(
        "for with three semicolons",
        """
void forward(float* x, int n) {
  for (int i = 0; i < n; ++i;) x[i] = 0;
}
""",
        "for (int i",
        "two ';'",
    ),
    light(
        "two conditions without common ( )",
        """
float forward(float a, float b) {
  if (a > 0) && (b > 0) return a;
  return b;
}
""",
        "if (a",
        "one more pair of ( )",
    ),
    light(
        "else with a condition",
        """
float forward(float x) {
  if (x > 0) {
    return 1;
  } else (x < 0) {
    return -1;
  }
  return 0;
}
""",
        "} else (x",
        "else if",
    ),
    light(
        "static member that is nowhere",
        """
struct Counter { static int calls; };
int forward(int n) {
  Counter::calls += n;
  return Counter::calls;
}
""",
        "Counter::calls +=",
        "inline in front of static",
        stage="load",
    ),
    light(
        "object declared with ()",
        """
struct Gate { float v = 1; };
float forward(float x) {
  Gate g();
  return g.v * x;
}
""",
        "return g.v",
        "declared as a function",
    ),
    light(
        "enumerator without its type",
        """
enum class Mode { Relu, Tanh };
int forward(int n) {
  Mode m = Relu;
  return m == Mode::Tanh ? n : 0;
}
""",
        "Mode m",
        "Mode::Relu",
    ),
    light(
        "word of C++ as a name",
        """
float forward(float x) {
  float new = 2 * x;
  return new;
}
""",
        "float new",
        "'new' is a word of C++",
    ),
    light(
        "hyphen in a name",
        """
float forward(float x) {
  float d-x = 2 * x;
  return x;
}
""",
        "float d-x",
        "d_x",
    ),
    light(
        "pointer times a number",
        """
void forward(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2 * x;
}
""",
        "for (int i",
        "is a pointer",
        "[ ]",
    ),
    aten(
        "three tensors for two",
        """#include <tuple>
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x) {
  return {x, x, x};
}
""",
        "return {x",
        "holds 2 values",
        "these are 3",
    ),
    aten(
        "dispatch without [&]",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", {
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}
""",
        "AT_DISPATCH",
        "[&]",
    ),
    aten(
        "forward in a namespace",
        """
namespace lltm {
at::Tensor forward(const at::Tensor& x) {
  return x;
}
}
""",
        "at::Tensor forward",
        "using lltm::forward;",
        binding=CALL,
    ),
    light(
        "default argument twice",
        """
float half(float x, float by = 2);
float half(float x, float by = 2) { return x / by; }
""",
        "float half(float x, float by = 2) {",
        "leave it out here",
    ),
    light(
        "Python's // cuts a statement short",
        """
int forward(int n) {
  int half = n // 2;
  return half;
}
""",
        "int half",
        "// begins a comment",
    ),
    aten(
        "a dtype as a method, as in Python",
        """
at::Tensor forward(const at::Tensor& x) {
  return x.double() * 2;
}
""",
        "return x",
        "x.to(at::kDouble)",
    ),
    light(
        "a variable of forward in backward",
        """
float forward(float x) {
  float scale = 2;
  return scale * x;
}
float backward(float d_y) {
  return scale * d_y;
}
""",
        "return scale * d_y",
        "belongs to forward",
        'saves=("scale",)',
    ),
    aten(
        "a struct without its ';' ahead of forward",
        """
struct Scale {
  double by = 2;
}

at::Tensor forward(const at::Tensor& x) {
  return Scale().by * x;
}
""",
        "}\n\nat::Tensor forward",
        "ends with '};'",
    ),
    light(
        "a loop over a number",
        """
float forward(int n) {
  float x = 0;
  for (int i : n) x += i;
  return x;
}
""",
        "for (int",
        "how many values",
    ),
    light(
        "values for an array of unknown length",
        """
float forward(int n) {
  float row[n] = {0};
  return row[0];
}
""",
        "float row",
        "std::vector",
        only="clang++",
    ),
    light(
        "a lambda outside of functions that captures",
        """
auto half = [&](float v) { return v / 2; };
""",
        "auto half",
        "begin the lambda with []",
    ),
    light(
        "a template inside a function",
        """
float forward(float x) {
  template <typename T> T half(T y) { return y / 2; }
  return half(x);
}
""",
        "template",
        "outside of functions",
    ),
    light(
        "two colons behind an object",
        """
#include <vector>
size_t forward(std::vector<float> x) {
  return x::size();
}
""",
        "return x::",
        "dot",
        "x.size",
    ),
    light(
        "a dot behind a type",
        """
#include <limits>
float forward(float x) {
  float best = std::numeric_limits<float>.max();
  return best;
}
""",
        "float best",
        "'::'",
        "std::numeric_limits<float>::max",
    ),
    light(
        "numeric_limits without its type",
        """
#include <limits>
float forward(float x) {
  float best = std::numeric_limits::max();
  return best;
}
""",
        "float best",
        "std::numeric_limits<float>::max",
    ),
    light(
        "infinity without ()",
        """
#include <limits>
float forward(float x) {
  float best = -std::numeric_limits<float>::infinity;
  return best;
}
""",
        "float best",
        "not called",
    ),
    light(
        "two indices into a pointer",
        """
float forward(float* p, int i, int j) {
  return p[i][j];
}
""",
        "return p",
        "p[i * columns + j]",
    ),
    light(
        "the address of a call",
        """
float half() { return 1; }
float forward() {
  float* p = &half();
  return *p;
}
""",
        "float* p",
        "leave the & away",
    ),
    light(
        "a const method that writes",
        """
struct Sum {
  float s = 0;
  void add(float x) const { s += x; }
};
""",
        "void add",
        "const behind the ( )",
    ),
    light(
        "a unique_ptr copied",
        """
#include <memory>
float forward(int n) {
  auto p = std::make_unique<float[]>(n);
  auto q = p;
  return q[0];
}
""",
        "auto q",
        "std::move(p)",
    ),
    light(
        "the third value of a pair",
        """
#include <tuple>
float forward(std::tuple<float, float> t) {
  return std::get<2>(t);
}
""",
        "return std::get",
        "counted from 0",
    ),
    light(
        "a member of a tuple",
        """
#include <tuple>
float forward(std::tuple<float, float> t) {
  return t.first;
}
""",
        "return t",
        "std::get<0>(t)",
    ),
    light(
        "a member by the name of its struct",
        """
struct Gate { float v; };
float forward(const Gate& g) {
  return Gate::v;
}
""",
        "return Gate",
        "g.v",
    ),
    light(
        "an enum without its ';'",
        """
enum Mode { Relu, Tanh }
int forward(int n) { return n; }
""",
        "enum Mode",
        "'};'",
    ),
    light(
        "a value that is called",
        """
#include <utility>
float forward(std::pair<float, float> p) {
  return p.first();
}
""",
        "return p",
        "take its ( ) away",
    ),
    light(
        "a plain function called with < >",
        """
float half(const float* a) { return a[0] / 2; }
float forward(float* x) {
  return half<float>(x);
}
""",
        "return half",
        "no template",
    ),
    light(
        "a number of a template that is not known",
        """
template <int N> float pick(const float* a) { return a[N]; }
float forward(float* x, int n) {
  return pick<n>(x);
}
""",
        "return pick",
        "known when the text is compiled",
    ),
    light(
        "a blank inside an operator",
        """
int forward(int n) {
  if (n > = 3) return 1;
  return n;
}
""",
        "if (n",
        "Write >=",
    ),
    light(
        "half a choice",
        """
int forward(int n) {
  int m = n > 3 ? 1;
  return m;
}
""",
        "int m",
        "condition ? value : other",
    ),
    light(
        "a semicolon between arguments",
        """
float forward(float x) {
  return std::fmax(x; 2);
}
""",
        "return std::fmax",
        "a ',' separates",
    ),
    light(
        "a semicolon behind the head of a for",
        """
float forward(float x) {
  for (int i = 0; i < 3; i++); {
    x += i;
  }
  return x;
}
""",
        "x += i",
        "take that ';' away",
    ),
    light(
        "two letters of a keyword swapped",
        """
float forward(float x) {
  fro (int i = 0; i < 3; i++) x += i;
  return x;
}
""",
        "fro (",
        "'for'",
    ),
    light(
        "the type of a parameter behind its name",
        """
float forward(x: float) {
  return x;
}
""",
        "float forward",
        "float x",
    ),
    light(
        "values taken apart in ( )",
        """
#include <tuple>
float forward(std::tuple<float, float> t) {
  auto (a, b) = t;
  return a;
}
""",
        "auto (a",
        "auto [a, b]",
    ),
    light(
        "a variable without its type",
        """
float forward(float x) {
  twice = 2 * x;
  return twice;
}
""",
        "twice =",
        "begins with its type",
    ),
    light(
        "a conversion without ( )",
        """
int forward(float n) {
  return int n;
}
""",
        "return int",
        "int(n)",
    ),
    light(
        "a function without its first brace",
        """
float forward(float x)
  return x;
}
""",
        "float forward",
        "Add the missing '{'",
    ),
    light(
        "a bracket of an index forgotten",
        """
float forward(float* x, int i) {
  x[i + 1 = x[i];
  return x[0];
}
""",
        "x[i + 1",
        "']'",
    ),
    light(
        "new for an array",
        """
float forward(int n) {
  float p[] = new float[n];
  return p[0];
}
""",
        "float p",
        "std::vector<float>",
    ),
    light(
        "a cast of a pointer",
        """
float forward(double* x) {
  float* y = static_cast<float*>(x);
  return y[0];
}
""",
        "float* y",
        "does not convert the values",
    ),
    light(
        "a number for a pointer",
        """
void forward(float* p) {
  p = 3.0f;
}
""",
        "p = 3",
        "p[0] = ",
    ),
    light(
        "a pointer for a matrix",
        """
float corner(float** p) { return p[0][0]; }
float forward(float* p) {
  return corner(p);
}
""",
        "return corner",
        "p[i * columns + j]",
    ),
    light(
        "a function for a number",
        """
float half() { return 0.5; }
float forward(float x) {
  return x * half;
}
""",
        "return x",
        "not called",
    ),
    light(
        "output with its arrows turned round",
        """
#include <iostream>
void forward(int n) {
  std::cout >> n;
}
""",
        "std::cout",
        "written with <<",
    ),
    light(
        "a function of OpenMP without its header",
        """
int forward() {
  return omp_get_max_threads();
}
""",
        "return omp",
        "#include <omp.h>",
    ),
    light(
        "a reduction with a comma",
        """
float forward(float* x, int n) {
  float s = 0;
#pragma omp parallel for reduction(+, s)
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}
""",
        "#pragma",
        "reduction(+ : s)",
        only="g++",
    ),
    light(
        "single quotes around a std::string",
        """
#include <string>
std::string forward() {
  std::string s = 'abc';
  return s;
}
""",
        "std::string s",
        "double quotes",
    ),
    light(
        "a comma forgotten between braces",
        """
float forward(int i) {
  float y[3] = {1 2, 3};
  return y[i];
}
""",
        "float y",
        "a ',' is missing",
    ),
    light(
        "a variable of type void",
        """
int forward(int n) {
  void m = n;
  return n;
}
""",
        "void m",
        "type of its value",
    ),
    aten(
        "a const tensor for what changes it",
        """
void scale(at::Tensor& t) { t.mul_(2); }
at::Tensor forward(const at::Tensor& x) {
  scale(x);
  return x;
}
""",
        "  scale(x)",
        "const ...&",
        "x.clone()",
    ),
    aten(
        "a helper for float in a dispatch",
        """
void clear(float* p, int64_t n) { p[n - 1] = 0; }
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    clear(x.mutable_data_ptr<scalar_t>(), x.numel());
  });
}
""",
        "clear(x.mut",
        "'clear' of line 4",
        "template <typename T>",
    ),
    aten(
        "a number for a tensor",
        """
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = 0.0;
  return y;
}
""",
        "at::Tensor y",
        "at::scalar_tensor",
    ),
    aten(
        "a number assigned to a tensor",
        """
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = x.clone();
  y = 0.0;
  return y;
}
""",
        "y = 0.0",
        "y.fill_(v)",
    ),
    aten(
        "all extents for one",
        """
int64_t forward(const at::Tensor& x) {
  int64_t n = x.sizes();
  return n;
}
""",
        "int64_t n",
        "x.size(0)",
    ),
    aten(
        "a dtype compared with a text",
        """
bool forward(const at::Tensor& x) {
  return x.scalar_type() == "float";
}
""",
        "return x",
        "at::kFloat",
    ),
    aten(
        "an accessor with its arguments swapped",
        """
float forward(const at::Tensor& x) {
  auto a = x.accessor<2, float>();
  return a[0][0];
}
""",
        "auto a",
        "accessor<float, 2>()",
    ),
    aten(
        "a tensor negated",
        """
int forward(const at::Tensor& x) {
  if (!x) return 1;
  return 0;
}
""",
        "if (!x)",
        "x.defined()",
    ),
    aten(
        "a method by the name of its type",
        """
at::Tensor forward(const at::Tensor& x) {
  return at::Tensor::clone();
}
""",
        "return at::Tensor",
        "x.clone(",
    ),
    aten(
        "a row of an accessor for a number",
        """
float forward(const at::Tensor& x) {
  auto a = x.accessor<float, 2>();
  return std::exp(a[0]);
}
""",
        "return std::exp",
        "more dimensions",
    ),
    aten(
        "length of a pointer",
        """
int64_t forward(const at::Tensor& x) {
  const float* p = x.const_data_ptr<float>();
  return p.size(0);
}
""",
        "return p",
        "nothing of its length",
    ),
    aten(
        "names of values in a lambda, as clang++ sees them",
        """
at::Tensor forward(const at::Tensor& x) {
  auto [a, b] = std::make_tuple(x, x);
  auto size = [&] { return a.numel(); };
  return size() ? a : b;
}
""",
        "auto size",
        "auto v = a",
        only="clang++",
    ),
    aten(
        "a pragma inside a dispatch",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
#pragma omp parallel for
    for (int64_t i = 0; i < x.numel(); ++i) p[i] = 0;
  });
}
""",
        "#pragma omp",
        "_Pragma",
    ),
    aten(
        "three quotes inside a function",
        '''
at::Tensor forward(const at::Tensor& x) {
  """Gives x back."""
  return x;
}
''',
        '"""Gives',
        "/* and */",
    ),
    aten(
        "a dispatch that is not closed",
        """
at::Tensor forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    x.mutable_data_ptr<scalar_t>()[0] = 0;
  }
  return x;
}
""",
        "  }\n",
        "add the missing ')'",
    ),
    aten(
        "a list returned as in Python",
        """
std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& g) {
  return [g, g];
}
""",
        "return [g",
        "braces",
    ),
    aten(
        "a comma in a condition of TORCH_CHECK",
        """
#include <type_traits>
void forward(const at::Tensor& x) {
  TORCH_CHECK(std::is_same<float, double>::value, "no");
}
""",
        "TORCH_CHECK",
        "put ( ) around",
    ),
    aten(
        "a dispatch with a loop, closed without its ')'",
        """
at::Tensor forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); i++) {
      p[i] = 0;
    }
  };
  return x;
}
""",
        "  };",
        "add the missing ')'",
    ),
    aten(
        "a star that is for the first name alone",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "clear", [&] {
    scalar_t* p, q;
    p = x.mutable_data_ptr<scalar_t>();
    q = x.mutable_data_ptr<scalar_t>();
    p[0] = q[0];
  });
}
""",
        "q = x",
        "In line 6 the *",
    ),
    light(
        "the type that a lambda returns without its arrow",
        """
float forward(float x) {
  auto half = [](float v) float { return v / 2; };
  return half(x);
}
""",
        "auto half",
        "-> float",
    ),
    light(
        "a function of std with a capital letter",
        """
float forward(float x) {
  return Max(x, 0.0f);
}
""",
        "return Max",
        "'std::max'",
    ),
    light(
        "a sum of std",
        """
float forward(const float* p, int n) {
  return std::sum(p, p + n);
}
""",
        "return std::sum",
        "std::accumulate",
    ),
    light(
        "is None as in Python",
        """
float forward(const float* p) {
  if (p is not None) return p[0];
  return 0;
}
""",
        "if (p",
        "p == nullptr",
    ),
    light(
        "a method of a type",
        """
struct Sum { float s = 0; };
float forward(float x) {
  Sum.s = x;
  return x;
}
""",
        "Sum.s",
        "Sum g;",
    ),
    light(
        "a template of scalar_t without typename",
        """
template <scalar_t>
scalar_t twice(scalar_t v) { return 2 * v; }
""",
        "template",
        "<typename scalar_t>",
    ),
    # What two lists of unseen mistakes left without a true cure
    aten(
        "a vector made of a tensor",
        """#include <vector>
at::Tensor forward(const at::Tensor& x) {
  std::vector<float> v = x;
  return x;
}
""",
        "std::vector<float> v",
        "std::vector<float> v(p, p + x.numel())",
    ),
    light(
        "a header of C++ with .h",
        "#include <cmath.h>\nfloat forward(float x) { return x; }\n",
        "#include <cmath.h>",
        "#include <cmath>?",
    ),
    light(
        "a header of PyTorch without its folder",
        "#include <Dispatch.h>\nfloat forward(float x) { return x; }\n",
        "#include <Dispatch.h>",
        "#include <ATen/Dispatch.h>",
    ),
    aten(
        "tensors to save without braces",
        """#include <vector>
struct Context { void save_for_backward(std::vector<at::Tensor> list); };
at::Tensor forward(Context* ctx, const at::Tensor& x, const at::Tensor& y) {
  ctx->save_for_backward(x, y);
  return x;
}
""",
        "ctx->save",
        "save_for_backward({x, y})",
    ),
    light(
        "a private method",
        """
class Scale {
  float twice(float v) { return 2 * v; }
};
float forward(float x) {
  Scale s;
  return s.twice(x);
}
""",
        "return s.twice",
        "public: ahead of line 5",
    ),
    light(
        "a private member of std",
        """#include <complex>
float forward(std::complex<float> z) {
  return z._M_value;
}
""",
        "return z",
        "private to its class",
    ),
    light(
        "std::max of an int and a float",
        """#include <algorithm>
float forward(float x) {
  return std::max(0, x);
}
""",
        "return std::max",
        "int and float",
        "std::max<float>(",
    ),
    aten(
        "a dtype between < and >",
        """
at::Tensor forward(const at::Tensor& x) {
  auto p = x.data_ptr<x.dtype()>();
  return x;
}
""",
        "auto p",
        "AT_DISPATCH_FLOATING_TYPES(x.scalar_type(),",
        "scalar_t",
    ),
    light(
        "too many arguments for a method of one",
        """
struct Gate { float open(float v) { return v; } };
float forward(Gate g, float x) {
  return g.open(x, 1);
}
""",
        "return g.open",
        "1 argument",
        "gives 2",
    ),
    aten(
        "tensors of einsum without braces",
        """#include <ATen/ops/einsum.h>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  return at::einsum("i,i->", x, y);
}
""",
        "return at::einsum",
        'at::einsum("...", {x, y})',
    ),
    aten(
        "Slice without its namespace",
        """
at::Tensor forward(const at::Tensor& x) {
  return x.index({Slice(0, 4)});
}
""",
        "return x.index",
        "at::indexing::Slice",
    ),
    aten(
        "softmax without its axis",
        """
at::Tensor forward(const at::Tensor& x) {
  return x.softmax();
}
""",
        "return x.softmax",
        "x.softmax(-1)",
    ),
    light(
        "a list times a number",
        """#include <vector>
float forward(int n) {
  std::vector<float> sums = {0} * n;
  return sums[0];
}
""",
        "std::vector<float> sums",
        "v(n, 0.0f)",
    ),
    light(
        "values put into a text with %",
        """#include <cstdio>
void forward(int n) {
  std::puts("got %d" % n);
}
""",
        "std::puts",
        "into a text with %",
    ),
    light(
        "then as in other languages",
        """
float forward(float x) {
  if (x > 0) then {
    x = 2 * x;
  }
  return x;
}
""",
        "if (x > 0)",
        "no then",
    ),
    light(
        "end as in other languages",
        """
float forward(float x) {
  if (x > 0) {
    x = 2 * x;
  end
  }
  return x;
}
""",
        "end",
        "'}'",
    ),
    aten(
        "address of an element of a tensor",
        """
float forward(const at::Tensor& x) {
  const float* p = &x[0];
  return *p;
}
""",
        "const float* p",
        "x.const_data_ptr<float>()",
    ),
    aten(
        "parallel_for without a grain size",
        """#include <ATen/Parallel.h>
void forward(float* y, int64_t n) {
  at::parallel_for(0, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = 0;
  });
}
""",
        "at::parallel_for",
        "begin, end, grain",
    ),
    aten(
        "members of another context",
        """
namespace torch::autograd {
struct AutogradContext { int kept; };
}
void forward(torch::autograd::AutogradContext* ctx) {
  ctx->saved_tensors();
}
""",
        "ctx->saved",
        "get_saved_variables()",
    ),
    light(
        "a cast without ( )",
        """
float forward(const double* a) {
  return static_cast<float>a[0];
}
""",
        "return static_cast",
        "static_cast<float>(a[0])",
    ),
    light(
        "include without #",
        "include <vector>\nfloat forward(float x) { return x; }\n",
        "include <vector>",
        "A # is missing",
    ),
    light(
        "dependent template call",
        """
struct Box {
  template <class T> const T* data() const { return nullptr; }
};
template <class B, class T>
T first(const B& box, int i) {
  const T* p = box.data<T>();
  return p[i];
}
float forward(const Box& b) { return first<Box, float>(b, 0); }
""",
        "box.data<T>",
        "box.template data<T>",
    ),
    light(
        "vector with brackets",
        """
#include <vector>
void forward(const float* x, float* y, int n) {
  std::vector<float> row[n];
  for (int i = 0; i < n; ++i) row[i] = 2 * x[i];
  for (int i = 0; i < n; ++i) y[i] = x[i];
}
""",
        "row[i] = 2",
        "The [ ] of line 6",
        "row(n)",
    ),
    aten(
        "message of a check without a comma",
        """
#include <c10/util/Exception.h>
at::Tensor forward(const at::Tensor& x) {
  TORCH_CHECK(x.dim() == 2, "want a matrix, got " x.dim() " axes");
  return x;
}
""",
        "TORCH_CHECK(",
        "this text in quotes",
        "'x.dim'",
    ),
    light(
        "one star for two names",
        """
void forward(const float* x, float* y, int n) {
  float* a, b;
  a = y;
  b = y + n / 2;
  for (int i = 0; i < n / 2; ++i) a[i] = x[i];
}
""",
        "b = y + n",
        "In line 5 the *",
    ),
    light(
        "exp of a pointer",
        """
void forward(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 1 / (1 + std::exp(-x));
}
""",
        "std::exp(-x)",
        "x[i]",
    ),
    aten(
        "one index for two axes",
        """
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = x.clone();
  auto a = y.accessor<float, 2>();
  for (int64_t i = 0; i < y.numel(); ++i) a[i] = 0.0f;
  return y;
}
""",
        "a[i] = 0.0f",
        "more dimensions",
    ),
    light(
        "arguments in another order",
        """
static float row_sum(const float* row, int64_t n) {
  float s = 0;
  for (int64_t i = 0; i < n; ++i) s += row[i];
  return s;
}
void forward(const float* x, float* y, int64_t n, int64_t m) {
  for (int64_t i = 0; i < n; ++i) y[i] = row_sum(m, x + i * m);
}
""",
        "row_sum(m,",
        "row_sum(const float* row, int64_t n)",
    ),
    light(
        "atomic in a copying lambda",
        """
#include <atomic>
float forward(const float* x, int n) {
  std::atomic<int> count{0};
  auto body = [=](int i) mutable { if (x[i] > 0) count++; };
  for (int i = 0; i < n; ++i) body(i);
  return count.load();
}
""",
        "auto body = [=]",
        "[&]",
    ),
    light(
        "vector of vectors from two numbers",
        """
#include <vector>
float forward(const float* x, int n, int m) {
  std::vector<std::vector<float>> a(n, m);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) a[i][j] = x[i * m + j];
  return a[0][0];
}
""",
        "a(n, m)",
        "a(n, std::vector<float>(m))",
    ),
    light(
        "two types in a for",
        """
void forward(const float* x, float* y, int n) {
  for (int i = 0, int j = n - 1; i < n; ++i, --j) y[i] = x[j];
}
""",
        "for (int i = 0, int",
        "int i = 0, j",
    ),
    aten(
        "softmax without its axis, again",
        """
#include <ATen/ops/softmax.h>
at::Tensor forward(const at::Tensor& x) {
  return at::softmax(x);
}
""",
        "at::softmax(x)",
        "softmax(const Tensor&",
        clang=("softmax(const at::Tensor& self, int64_t dim",),
    ),
    light(
        "parameter with empty brackets",
        """
float trace(float a[][], int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[i][i];
  return s;
}
float forward(const float* x) { return x[0]; }
""",
        "a[][]",
        "float a[][4]",
    ),
    light(
        "array of arrays for a pointer to pointers",
        """
float corner(float** a) { return a[0][0]; }
float forward(const float* x) {
  float t[3][4];
  t[0][0] = x[0];
  return corner(t);
}
""",
        "corner(t)",
        "&a[0][0] and take a float*",
    ),
    aten(
        "memcpy from a tensor",
        """
#include <cstring>
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = x.clone();
  memcpy(y.data_ptr<float>(), x, x.numel() * sizeof(float));
  return y;
}
""",
        "memcpy(y",
        "x.const_data_ptr<float>()",
    ),
    aten(
        "sizes as a pointer",
        """
at::Tensor forward(const at::Tensor& x) {
  int64_t* shape = x.sizes();
  return x * shape[0];
}
""",
        "int64_t* shape",
        "at::IntArrayRef",
    ),
    light(
        "name that std has too",
        """
#include <algorithm>
using namespace std;
int count = 0;
int forward(const float* x, int n) {
  for (int i = 0; i < n; ++i)
    if (x[i] > 0) count++;
  return count;
}
""",
        "count++",
        "Two things are called 'count'",
    ),
    aten(
        "accessor type without its axes",
        """
static float first(at::TensorAccessor<float> a) { return a[0]; }
at::Tensor forward(const at::Tensor& x) {
  return x * first(x.accessor<float, 1>());
}
""",
        "at::TensorAccessor<float> a",
        "at::TensorAccessor<float, 2>",
    ),
    light(
        "vector from a pointer and a length",
        """
#include <vector>
float forward(const float* x, int64_t n) {
  std::vector<float> v(x, n);
  return v[0];
}
""",
        "v(x, n)",
        "v(x, x + n)",
    ),
    light(
        "unique_ptr from new",
        """
#include <memory>
float forward(const float* x, int n) {
  std::unique_ptr<float[]> tmp = new float[n];
  tmp[0] = x[0];
  return tmp[0];
}
""",
        "tmp = new",
        "tmp(new float[n])",
    ),
    light(
        "lambda with two kinds of result",
        """
float forward(const float* x, int n) {
  auto relu = [](float v) {
    if (v > 0) return v;
    return 0;
  };
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += relu(x[i]);
  return sum;
}
""",
        "return 0;",
        "-> float, say",
    ),
    light(
        "length behind its use",
        """
static float total(const float x[n], int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  return s;
}
float forward(const float* x) { return total(x, 3); }
""",
        "static float total",
        "write float* x",
    ),
    light(
        "number for an enum",
        """
enum Mode { RELU, TANH };
float forward(float x, int n) {
  Mode mode = n;
  return mode == RELU ? (x > 0 ? x : 0) : std::tanh(x);
}
""",
        "Mode mode",
        "static_cast<Mode>(...)",
    ),
    aten(
        "tuple of two into three",
        """
#include <tuple>
at::Tensor forward(const at::Tensor& x) {
  auto [values, indices, rest] = x.max(1);
  return values;
}
""",
        "auto [values",
        "3 names",
    ),
    light(
        "sort of a whole vector",
        """
#include <algorithm>
#include <vector>
float forward(const float* x, int n) {
  std::vector<float> v(x, x + n);
  std::sort(v);
  return v[n / 2];
}
""",
        "std::sort(v)",
        "std::sort(v.begin(), v.end())",
    ),
    light(
        "accumulate without its start",
        """
#include <numeric>
float forward(const float* x, int n) {
  float sum = std::accumulate(x, x + n);
  return sum / n;
}
""",
        "std::accumulate(x",
        "'accumulate' takes 3",
    ),
    light(
        "private of an unknown name",
        """
void forward(const float* x, float* y, int n) {
#pragma omp parallel for private(i)
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
""",
        "private(i)",
        "leave 'i' out of private",
        only="g++",
    ),
    light(
        "lambda that captures, for a function pointer",
        """
static void apply(float (*f)(float), const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = f(x[i]);
}
void forward(const float* x, float* y, int n, float scale) {
  apply([&](float v) { return scale * v; }, x, y, n);
}
""",
        "apply([&]",
        "std::function<float(float)>",
    ),
    light(
        "case without a colon",
        """
float forward(float x, int mode) {
  switch (mode) {
    case 0 return x;
    default: return 0;
  }
}
""",
        "case 0 return",
        "case 0:",
    ),
    aten(
        "dtype as a template argument",
        """
at::Tensor forward(const at::Tensor& x) {
  const float* p = x.data_ptr<at::kFloat>();
  return x * p[0];
}
""",
        "x.data_ptr<at::kFloat>",
        "float for at::kFloat",
    ),
    aten(
        "dtype in quotes",
        """
#include <ATen/ops/zeros.h>
at::Tensor forward(const at::Tensor& x) {
  return at::zeros(x.sizes(), x.options().dtype("float"));
}
""",
        'dtype("float")',
        "at::kFloat",
    ),
    aten(
        "method of a result without its brackets",
        """
#include <ATen/ops/mm.h>
at::Tensor forward(const at::Tensor& x, const at::Tensor& w) {
  return at::mm(x, w).relu;
}
""",
        "at::mm(x, w).relu",
        "write .relu()",
    ),
    aten(
        "type for a value",
        """
#include <array>
at::Tensor forward(const at::Tensor& g, std::array<bool, 1> wanted) {
  at::Tensor d_x = at::Tensor;
  if (wanted[0]) d_x = g.exp();
  return d_x;
}
""",
        "at::Tensor d_x",
        "at::Tensor() makes one",
    ),
    aten(
        "comma missing between template arguments",
        """
#include <tuple>
std::tuple<at::Tensor at::Tensor> forward(const at::Tensor& x) {
  return {x, x.exp()};
}
""",
        "std::tuple<at::Tensor",
        "a ',' is missing",
    ),
    light(
        "restrict of C",
        """
void forward(const float* restrict x, float* restrict y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
""",
        "restrict x",
        "__restrict__",
    ),
    light(
        "vector with a start value behind =",
        """
#include <vector>
float forward(const float* x, int n) {
  std::vector<float> v(n) = 0;
  for (int i = 0; i < n; ++i) v[i] = x[i];
  return v[0];
}
""",
        "v(n) = 0",
        "v(n, 0)",
    ),
    aten(
        "pointer returned as the tensor",
        """
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = x.clone();
  float* p = y.data_ptr<float>();
  for (int64_t i = 0; i < y.numel(); ++i) p[i] *= 2;
  return p;
}
""",
        "return p",
        "A pointer is no tensor",
    ),
    light(
        "member of a pair",
        """
#include <utility>
float forward(const float* x, int n) {
  std::pair<float, int> best = {x[0], 0};
  for (int i = 1; i < n; ++i)
    if (x[i] > best.first) best = {x[i], i};
  return best.value;
}
""",
        "best.value",
        "first and second",
    ),
    light(
        "one value taken apart",
        """
static float mean(const float* x, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  return s / n;
}
float forward(const float* x, int n) {
  auto [m, v] = mean(x, n);
  return m + v;
}
""",
        "auto [m, v]",
        "one value",
    ),
    light(
        "last member without a semicolon",
        """
struct Point {
  float x;
  float y
};
float forward(const float* p) {
  Point q{p[0], p[1]};
  return q.x + q.y;
}
""",
        "float y\n",
        "A ';' is missing",
    ),
    light(
        "too many template arguments",
        """
template <class T>
T twice(T v) { return 2 * v; }
float forward(float x) {
  return twice<float, 3>(x);
}
""",
        "twice<float, 3>",
        "template <class T>",
    ),
    aten(
        "type from a dtype",
        """
at::Tensor forward(const at::Tensor& x) {
  using scalar_t = x.scalar_type();
  at::Tensor y = x.clone();
  y.data_ptr<scalar_t>()[0] = 0;
  return y;
}
""",
        "using scalar_t",
        "AT_DISPATCH_FLOATING_TYPES(x.scalar_type()",
    ),
    light(
        "method of a number, again",
        """
float forward(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum.add(x[i]);
  return sum;
}
""",
        "sum.add(",
        "sum += v",
    ),
    light(
        "type inside a template's type",
        """
#include <vector>
template <class V>
float total(const V& v) {
  V::value_type s = 0;
  for (auto e : v) s += e;
  return s;
}
float forward(const float* x, int n) { return total(std::vector<float>(x, x + n)); }
""",
        "V::value_type s",
        "typename V::value_type",
    ),
    light(
        "variable with the name of a function",
        """
void forward(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) {
    float exp = 0;
    exp = exp(x[i]);
    y[i] = exp / (1 + exp);
  }
}
""",
        "exp = exp(",
        "The variable 'exp' of line 6",
    ),
    light(
        "a statement that goes on in the next line",
        """
float forward(const float* x, int n) {
  float s = 0;
  int i = 0;
  while (i < n) {
    s += x[i]
    ++i;
  }
  return s;
}
""",
        "s += x[i]\n",
        "it goes on in the next line",
    ),
)
