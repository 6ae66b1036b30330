"""Wrong kernel texts of the kind that beginners write, with the line and the help that each one owes its reader."""

from __future__ import annotations

from dataclasses import dataclass

LIGHT = "#include <cmath>\n#include <cstdint>\n"
ATEN = "#include <ATen/core/Tensor.h>\n#include <ATen/Dispatch.h>\n"
#: The generated binding that follows every text; some mistakes only show in it.
BINDING = "static const int binding_end = 0;\n"
CALL = "at::Tensor call(const at::Tensor& x) {\n  return forward(x);\n}\n"


@dataclass(frozen=True)
class Mistake:
    """One wrong text.

    Attributes:
        name: what was done wrong, in a few words.
        text: the whole cpp text.
        at: a part of the text; the first diagnostic must point to the line in which it starts.
        help: words that the help must hold, all of them.
        warns: the text compiles; the first diagnostic is a warning.
        binding: what stands behind the text, as file `lltm/fused (binding)`.
        stage: "compile", "link" (with -z defs), or "load" (dlopen).
        clang: words that the help must hold in place of `help` where clang++ says something else.
        only: the one compiler that finds the mistake, where the others do not.
    """

    name: str
    text: str
    at: str
    help: tuple[str, ...]
    warns: bool = False
    binding: str = BINDING
    stage: str = "compile"
    clang: tuple[str, ...] = ()
    only: str = ""

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.text.index(self.at)) + 1


def light(name: str, body: str, at: str, *help: str, **more: object) -> Mistake:
    """Make a mistake that needs no header of PyTorch."""
    return Mistake(name, LIGHT + body, at, help, **more)  # type: ignore[arg-type]


def aten(name: str, body: str, at: str, *help: str, **more: object) -> Mistake:
    """Make a mistake over tensors; the lightest header that has them costs 1.5 s."""
    return Mistake(name, ATEN + body, at, help, **more)  # type: ignore[arg-type]


MISTAKES = (
    light(
        "missing semicolon",
        """
void forward(const float* x, float* y, int n) {
  float scale = 2.0f
  for (int i = 0; i < n; ++i) y[i] = scale * x[i];
}
""",
        "float scale",
        "';'",
    ),
    light(
        "missing semicolon before a brace",
        """
float half(float x) {
  return x / 2
}
""",
        "return x",
        "';'",
    ),
    light(
        "missing semicolon after a struct",
        """
struct Gates {
  float i, o, c;
}

float sum(const Gates& g) { return g.i + g.o + g.c; }
""",
        "}\n\nfloat",
        "';'",
    ),
    light(
        "misspelt variable",
        """
float forward(float gate, int rows) {
  float total = 0;
  for (int r = 0; r < rows; ++r) total += gtae;
  return total;
}
""",
        "for (int r",
        "'gate'",
    ),
    light(
        "misspelt function of std",
        """
float forward(float z) {
  return (1 + std::tanhh(z / 2)) / 2;
}
""",
        "return",
        "Did you mean 'tanh'",
    ),
    light(
        "misspelt declaration",
        """
float gate(float total) { return total; }
float forward(float x, float y) {
  float toatl = x + y;
  total *= 2;
  return total;
}
""",
        "total *= 2",
        "'toatl'",
        "line 6",
    ),
    light(
        "variable outside its loop",
        """
float forward(const float* x, int n) {
  for (int row = 0; row < n; ++row) {
    float sum = x[row];
  }
  return sum;
}
""",
        "return sum",
        "'sum'",
        "{ }",
    ),
    light(
        "forgotten std:: on a type",
        """#include <vector>
int forward(int n) {
  vector<float> v(n);
  return v.size();
}
""",
        "vector<float>",
        "std::vector",
    ),
    light(
        "forgotten std:: on a function",
        """#include <algorithm>
int forward(int n) {
  return max(n, 3);
}
""",
        "return max",
        "std::max",
    ),
    Mistake(
        "missing include of vector",
        """#include <cmath>
float forward(int n) {
  std::vector<float> v(n);
  return v[0];
}
""",
        "std::vector",
        ("#include <vector>",),
    ),
    Mistake(
        "missing include of algorithm",
        """#include <cmath>
float forward(float* x, int n) {
  std::sort(x, x + n);
  return x[0];
}
""",
        "std::sort",
        ("#include <algorithm>",),
    ),
    Mistake(
        "misspelt include",
        """#include <cmath>
#include <vectr>
float forward(float x) { return std::tanh(x); }
""",
        "#include <vectr>",
        ("#include <vector>",),
    ),
    light(
        "wrong number of arguments",
        """
float gate(float z, float bias) { return z + bias; }

float forward(float z) {
  return gate(z);
}
""",
        "return gate",
        "'gate'",
        "2 arguments",
    ),
    light(
        "too many arguments to a lambda",
        """
float forward(float z) {
  auto gate = [](float a) { return a; };
  return gate(z, 1.0f);
}
""",
        "return gate",
        "'gate' takes 1 argument, this call gives 2",
    ),
    light(
        "double pointer for a float pointer",
        """
void gate(float* y, int n) { y[0] = n; }

void forward(double* y, int n) {
  gate(y, n);
}
""",
        "gate(y, n)",
        "float*",
        "double*",
    ),
    light(
        "const dropped",
        """
void forward(const float* x, int n) {
  float* y = x;
  y[0] = n;
}
""",
        "float* y = x",
        "const",
    ),
    light(
        "assignment to const",
        """
int forward(const int n) {
  const int half = n / 2;
  half = 3;
  return half;
}
""",
        "half = 3",
        "const",
    ),
    light(
        "write through a pointer to const",
        """
void forward(const float* x, int n) {
  for (int i = 0; i < n; ++i) x[i] = 0;
}
""",
        "x[i] = 0",
        "const",
    ),
    light(
        "missing return",
        """
float forward(float x) {
  float y = std::tanh(x);
}
""",
        "}\n",
        "return",
        warns=True,
    ),
    light(
        "narrowing in braces",
        """
struct Size { int rows; };
int forward(double x) {
  Size size{x};
  return size.rows;
}
""",
        "Size size{x}",
        "static_cast<int>",
        warns=True,
    ),
    light(
        "missing closing brace",
        """
float forward(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += x[i];
  return sum;
}

float backward(float x) {
  return x;
}
""",
        "for (int i",
        "'}'",
    ),
    light(
        "missing closing brace of a function",
        """
float forward(float x) {
  return x;

float backward(float x) {
  return x;
}
""",
        "float forward",
        "'}'",
    ),
    light(
        "brace too many",
        """
float forward(float x) {
  return x;
}
}  // one too many
""",
        "}  // one",
        "'}'",
    ),
    light(
        "missing closing parenthesis",
        """
float forward(float x) {
  float y = std::tanh(0.5f * (x + 1);
  return y;
}
""",
        "float y",
        "')'",
    ),
    light(
        "parenthesis too many",
        """
float forward(float x) {
  float y = std::tanh(x));
  return y;
}
""",
        "float y",
        "')'",
    ),
    light(
        "assignment in a condition",
        """
int forward(int n) {
  if (n = 0) return 1;
  return n;
}
""",
        "if (n = 0)",
        "==",
        warns=True,
    ),
    light(
        "unknown type",
        """
void forward(flot* x, int n) {
  x[0] = n;
}
""",
        "void forward",
        "'float'",
    ),
    light(
        "variable declared twice",
        """
int forward(int n) {
  int half = n / 2;
  int half = n / 3;
  return half;
}
""",
        "int half = n / 3",
        "line 5",
    ),
    light(
        "function defined twice",
        """
float gate(float z) { return z; }
float gate(float z) { return z + 1; }
""",
        "float gate(float z) { return z + 1",
        "line 4",
    ),
    light(
        "missing quote",
        """#include <cstdio>
void forward(int n) {
  std::printf("n = %d, n);
}
""",
        "std::printf",
        "quote",
    ),
    light(
        "no-break space",
        """
float forward(float x) {
  float y =\N{NO-BREAK SPACE}x;
  return y;
}
""",
        "float y",
        "U+00A0",
        "NO-BREAK SPACE",
    ),
    light(
        "zero-width space",
        """
float forward(float rate) {
  float y = ra\N{ZERO WIDTH SPACE}te;
  return y;
}
""",
        "float y",
        "U+200B",
    ),
    light(
        "typographic quotes",
        """#include <cstdio>
void forward() {
  std::puts(\N{LEFT DOUBLE QUOTATION MARK}done\N{RIGHT DOUBLE QUOTATION MARK});
}
""",
        "std::puts",
        "U+201C",
    ),
    light(
        "std::max of two types",
        """#include <algorithm>
int64_t forward(int64_t n) {
  return std::max(n, 1);
}
""",
        "return std::max",
        "std::max<int64_t>",
    ),
    light(
        "remainder of floats",
        """
float forward(float x) {
  return x % 2;
}
""",
        "return x",
        "std::fmod",
    ),
    light(
        "dot on a pointer",
        """
struct Gates { float i; };
float forward(const Gates* g) {
  return g.i;
}
""",
        "return g.i",
        "->",
    ),
    light(
        "value from a void function",
        """
void forward(float x) {
  return x;
}
""",
        "return x",
        "void",
    ),
    light(
        "else without if",
        """
float forward(float x) {
  if (x > 0);
    return x;
  else
    return 0;
}
""",
        "if (x > 0);",
        "Take this ';' away",
    ),
    light(
        "unterminated comment",
        """
float forward(float x) {
  /* scale it
  return x;
}
""",
        "/* scale",
        "*/",
    ),
    light(
        "endif forgotten",
        """
#ifdef FAST
float forward(float x) { return x; }
""",
        "#ifdef FAST",
        "#endif",
    ),
    light(
        "call of a number",
        """
float forward(float x) {
  return 2 (x + 1);
}
""",
        "return 2",
        "*",
    ),
    light(
        "function that is nowhere, at link",
        """
float gate(float z);

float forward(float z) {
  return gate(z);
}
""",
        "return gate",
        "body",
        stage="link",
    ),
    light(
        "function that is nowhere, at load",
        """
float gate(float z);

float forward(float z) {
  return gate(z);
}
""",
        "return gate",
        "body",
        stage="load",
    ),
    Mistake(
        "no forward",
        """#include <ATen/core/Tensor.h>
at::Tensor foward(const at::Tensor& x) {
  return x;
}
""",
        "at::Tensor foward",
        ("'forward'",),
        binding=CALL,
    ),
    aten(
        "forward with another number of arguments",
        """
at::Tensor forward(const at::Tensor& x, const at::Tensor& weights) {
  return x;
}
""",
        "at::Tensor forward",
        "signature",
        "forward",
        binding=CALL,
    ),
    aten(
        "forward with another type of argument",
        """
at::Tensor forward(const float* x) {
  return at::Tensor();
}
""",
        "at::Tensor forward",
        "signature",
        "forward",
        binding=CALL,
    ),
    aten(
        "forward that returns a vector",
        """#include <vector>
std::vector<double> forward(const at::Tensor& x) {
  return {1, 2};
}
""",
        "std::vector<double> forward",
        "signature",
        "returns",
        binding=CALL,
    ),
    aten(
        "unknown function of at",
        """#include <ATen/ops/sigmoid.h>
at::Tensor forward(const at::Tensor& x) {
  return at::sigmoidd(x);
}
""",
        "return at::sigmoidd",
        "at::sigmoid'",
    ),
    aten(
        "function of at that was not included",
        """
at::Tensor forward(const at::Tensor& x) {
  return at::relu(x);
}
""",
        "return at::relu",
        "#include <ATen/ops/relu.h>",
    ),
    aten(
        "forgotten at:: on a type",
        """
Tensor forward(const at::Tensor& x) {
  return x;
}
""",
        "Tensor forward",
        "at::Tensor",
    ),
    aten(
        "forgotten at:: on a function",
        """#include <ATen/ops/zeros.h>
at::Tensor forward(const at::Tensor& x) {
  return zeros({2, 3});
}
""",
        "return zeros",
        "at::zeros",
    ),
    aten(
        "torch:: without its header",
        """
torch::Tensor forward(torch::Tensor x) {
  return x;
}
""",
        "torch::Tensor forward",
        "at::Tensor",
    ),
    aten(
        "unknown member of Tensor",
        """
int64_t forward(const at::Tensor& x) {
  return x.sizee(0);
}
""",
        "return x.sizee",
        "'size'",
    ),
    aten(
        "shape as in Python",
        """
int64_t forward(const at::Tensor& x) {
  return x.shape[0];
}
""",
        "return x.shape",
        "x.size(0)",
    ),
    aten(
        "data_ptr without a type",
        """
void forward(const at::Tensor& x) {
  float* p = x.data_ptr();
  p[0] = 1;
}
""",
        "float* p",
        "data_ptr<",
    ),
    aten(
        "write through const_data_ptr",
        """
void forward(const at::Tensor& x) {
  float* p = x.const_data_ptr<float>();
  p[0] = 1;
}
""",
        "float* p",
        "mutable_data_ptr",
    ),
    aten(
        "data<T>, deprecated",
        """
float forward(const at::Tensor& x) {
  float* p = x.data<float>();
  return p[0];
}
""",
        "float* p",
        "data_ptr<",
        warns=True,
    ),
    aten(
        "type() in a dispatch",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.type(), "forward", [&] {
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}
""",
        "AT_DISPATCH_FLOATING_TYPES",
        "x.scalar_type()",
    ),
    aten(
        "forgotten lambda capture",
        """
void forward(const at::Tensor& x, int n) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [] {
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}
""",
        "AT_DISPATCH_FLOATING_TYPES(x",
        "line 6",
        "[&]",
    ),
    aten(
        "missing semicolon in a dispatch",
        """
void forward(const at::Tensor& x, int n) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>()
    for (int i = 0; i < n; ++i) p[i] = 1;
  });
}
""",
        "scalar_t* p",
        "';'",
    ),
    aten(
        "misspelt variable in a dispatch",
        """
void forward(const at::Tensor& x, int count) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    for (int i = 0; i < cuont; ++i) p[i] = 1;
  });
}
""",
        "for (int i",
        "'count'",
    ),
    aten(
        "missing brace in a dispatch",
        """
void forward(const at::Tensor& x, int n) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    for (int i = 0; i < n; ++i) {
      p[i] = 1;
  });
}
""",
        "for (int i",
        "'}'",
    ),
    aten(
        "missing parenthesis of a dispatch",
        """
void forward(const at::Tensor& x, int n) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] {
    scalar_t* p = x.mutable_data_ptr<scalar_t>();
    p[0] = n;
  };
}

void backward(int n) {}
""",
        "};",
        "')'",
    ),
    aten(
        "dispatch without a name",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), [&] {
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}
""",
        "AT_DISPATCH_FLOATING_TYPES",
        "name",
    ),
    aten(
        "misspelt dispatch",
        """
void forward(const at::Tensor& x) {
  AT_DISPATCH_FLOATING_TYPE(x.scalar_type(), "forward", [&] {
    x.mutable_data_ptr<scalar_t>()[0] = 1;
  });
}
""",
        "AT_DISPATCH_FLOATING_TYPE",
        "AT_DISPATCH_FLOATING_TYPES",
    ),
    aten(
        "scalar_t outside a dispatch",
        """
void forward(const at::Tensor& x) {
  scalar_t* p = x.mutable_data_ptr<scalar_t>();
  p[0] = 1;
}
""",
        "scalar_t* p",
        "AT_DISPATCH_FLOATING_TYPES",
    ),
    aten(
        "number returned for a tensor",
        """
at::Tensor forward(const at::Tensor& x) {
  return x.size(0);
}
""",
        "return x.size",
        "returns",
    ),
    aten(
        "member of a number, inside a template",
        """
template <typename T>
T pick(const at::Tensor& x, T fallback) { return x.numel() ? x.const_data_ptr<T>()[0] : fallback.value; }

float forward(const at::Tensor& x) {
  return pick(x, 1.0f);
}
""",
        "T pick",
        "float",
    ),
    light(
        "misspelt type of std",
        """#include <vector>
float forward(int n) {
  std::vectr<float> v(n);
  return v[0];
}
""",
        "std::vectr",
        "'vector'",
    ),
    light(
        "power as in Python",
        """
float forward(float x, float n) {
  return x ** n;
}
""",
        "return x",
        "std::pow",
    ),
    light(
        "None as in Python",
        """
const float* forward() {
  return None;
}
""",
        "return None",
        "nullptr",
    ),
    light(
        "elif as in Python",
        """
float forward(float x) {
  if (x > 1) {
    return 1;
  } elif (x > 0) {
    return 0;
  }
  return x;
}
""",
        "} elif",
        "else if",
    ),
    light(
        "function used ahead of its definition",
        """
float forward(float x) {
  return gate(x);
}

float gate(float x) { return x; }
""",
        "return gate",
        "line 8",
    ),
    light(
        "sort of things without an order, an error inside a header",
        """#include <algorithm>
#include <vector>
struct Row { float value; };
void forward(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end());
}
""",
        "std::sort",
        "operator",
    ),
    light(
        "index into a number",
        """
float forward(float x) {
  return x[0];
}
""",
        "return x[0]",
        "[ ]",
    ),
    light(
        "assignment to a value",
        """
int size(int n) { return n; }
void forward(int n) {
  size(n) = 3;
}
""",
        "size(n) = 3",
        "cannot be assigned",
    ),
    light(
        "condition without its closing parenthesis",
        """
float forward(float x) {
  if (x > 0 {
    return x;
  }
  return 0;
}
""",
        "if (x",
        "')'",
    ),
    light(
        "macro with another number of arguments",
        """
#define SQUARE(a) ((a) * (a))
float forward(float x, float y) {
  return SQUARE(x, y);
}
""",
        "return SQUARE",
        "macro",
    ),
    light(
        "operand missing",
        """
float forward(float x) {
  return x * ;
}
""",
        "return x",
        "missing here",
    ),
    light(
        "return without a value",
        """
float forward(float x) {
  if (x < 0) return;
  return x;
}
""",
        "if (x < 0)",
        "return",
    ),
    light(
        "declared twice with another type",
        """
float forward(float x) {
  float scale = 2;
  double scale = 3;
  return x * scale;
}
""",
        "double scale",
        "line 5",
    ),
    light(
        "arrow on an object",
        """
struct Gates { float i; };
float forward(Gates g) {
  return g->i;
}
""",
        "return g->i",
        "dot",
    ),
    light(
        "typographic minus",
        """
float forward(float x) {
  return x \N{MINUS SIGN} 1;
}
""",
        "return x",
        "U+2212",
    ),
    light(
        "pragma misspelt",
        """
void forward(float* x, int n) {
#pragma opm parallel for
  for (int i = 0; i < n; ++i) x[i] = 0;
}
""",
        "#pragma",
        "#pragma omp",
        warns=True,
    ),
    aten(
        "operator on tensors without its header",
        """
at::Tensor forward(const at::Tensor& x) {
  return x + x;
}
""",
        "return x + x",
        "#include <ATen/ATen.h>",
    ),
    aten(
        "assignment to a const tensor",
        """#include <ATen/ops/zeros.h>
at::Tensor forward(const at::Tensor& x) {
  x = at::zeros({2, 3});
  return x;
}
""",
        "x = at::zeros",
        "const",
    ),
    aten(
        "parallel_for with a lambda of one argument",
        """#include <ATen/Parallel.h>
void forward(float* x, int64_t n) {
  at::parallel_for(0, n, 1, [&](int64_t i) {
    x[i] = 0;
  });
}
""",
        "at::parallel_for",
        "int64_t begin",
        "end",
    ),
    aten(
        "misspelt type of at",
        """
at::Tensor forward(const at::Tensr& x) {
  return x;
}
""",
        "at::Tensor forward",
        "at::Tensor'",
    ),
)
