// Snippets that bind themselves, and what has other things of its own.

//// own pybind11 module
// name: "my_relu"
// functions: None
// reference: torch.relu
// inputs: (seeded(5, 7),)
// wrong: ("(x > 0)", "(x > 1)")

#include <torch/extension.h>

torch::Tensor relu_fwd(torch::Tensor x) { return x.clamp_min(0); }
torch::Tensor relu_bwd(torch::Tensor grad, torch::Tensor x) { return grad * (x > 0); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &relu_fwd, "ReLU forward");
  m.def("backward", &relu_bwd, "ReLU backward");
}

//// own TORCH_LIBRARY
// name: "my_ops"
// functions: None
// is_python_module: False
// reference: lambda a, b, c: a * b + c
// inputs: (seeded(5, 7), seeded(5, 7, shift=1), 2.0)
// wrong: ("a * b + c", "a * b - c")

#include <torch/library.h>
#include <ATen/ATen.h>

namespace my_ops {
at::Tensor mymuladd_cpu(const at::Tensor& a, const at::Tensor& b, double c) { return a * b + c; }

TORCH_LIBRARY(my_ops, m) {
  m.def("mymuladd(Tensor a, Tensor b, float c) -> Tensor");
}

TORCH_LIBRARY_IMPL(my_ops, CPU, m) {
  m.impl("mymuladd", &mymuladd_cpu);
}
}  // namespace my_ops

//// heaviside
// no_implicit_headers: True
// extra_include_paths: []
// with_cuda: False
// reference: lambda x: (x > 0).to(x.dtype)
// inputs: (seeded(5, 7),)
// wrong: ("v > 0", "v > 1")

#include <torch/csrc/api/include/torch/types.h>
namespace {
inline float step(float v) { return v > 0 ? 1.f : 0.f; }
}
torch::Tensor heaviside(const torch::Tensor& x) {
  auto y = x.clone();
  float* p = y.data_ptr<float>();
  for (int64_t i = 0; i < y.numel(); ++i) p[i] = step(p[i]);
  return y;
}

//// two functions
// name: "polynomials"
// functions: ["square", "cube"]
// reference: {"square": torch.square, "cube": lambda x: x**3}
// inputs: {"square": (seeded(5, 7),), "cube": (seeded(11),)}
// wrong: ("return x * x;", "return x + x;")

torch::Tensor square(torch::Tensor x) { return x * x; }
torch::Tensor cube(torch::Tensor x) { return x * x * x; }
