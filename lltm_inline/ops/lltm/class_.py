"""LLTM as an object: a class of C++ that holds its weights, known to PyTorch as a custom class (`torch::class_`).

    z        = [old_h, input] weights^T + bias                      (B, 3S), split into z_i, z_o, z_c of (B, S)
    i, o, c  = sigmoid(z_i), sigmoid(z_o), elu(z_c)
    new_cell = old_cell + c i                                       (B, S)
    new_h    = tanh(new_cell) o                                     (B, S)

What it changes over `lltm/aten`: the formula has an owner. An operator is a function, and its caller brings the weights
along at every call; an object keeps them, and a program without Python makes it, calls it, saves it and loads it under
the same name as Python does:

    LLTMCell = torch.classes.lltm_class.LLTMCell            # NAMESPACE.CLASS
    cell = LLTMCell(weights, bias)                          # (3S, S+F), (3S)
    new_h, new_cell = cell.forward(input, old_h, old_cell)
    torch.save((cell.weights(), cell.bias()), "cell.pt")
    cell = LLTMCell(*torch.load("cell.pt"))

There is no `backward`. A method is no operator: autograd sees the calls of ATen inside it and differentiates those, for
the weights too. The object takes the very tensors that it is given. So parameters of a module stay the module's: an
optimizer's step and `load_state_dict` change what the cell computes with. (That they are shared is not saved with a
module that holds both: save its `state_dict`.)

What is saved are weights and bias. The pair above is a file that `torch.load` takes with its safe defaults, and
`torch::pickle_load` in C++; what `torch::pickle_save` writes there is read by the same line in Python. The object itself
can be pickled, by `torch.save` too, but under the name of its namespace: it can be read where the same library is loaded,
and `torch.load` wants `torch.serialization.safe_globals([torch._C.ScriptObject])` around it.

PyTorch keeps a class to the end of the process, by the name of its C++ type, and a second library with a type of that
name ends the process: while it is loaded, so that nothing catches it. The class stands in a namespace that is called as
the build is, so that an edited kernel can be loaded beside this one. `li.build` refuses a text that does without.

What it costs: a call of ATen for each step of the formula, as in `lltm/python`; a header that takes seconds to compile;
and six microseconds for each call from Python, which goes through TorchScript's matching of arguments: at (1, 1, 1) 18 µs
in place of the 13 of the operator. `torch.compile` stops at a method of such an object and goes on behind it; inside a
graph use the operator.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/ATen.h>
#include <torch/custom_class.h>
#include <torch/library.h>

std::tuple<at::Tensor, at::Tensor> forward(
    const at::Tensor& input, const at::Tensor& weights, const at::Tensor& bias,
    const at::Tensor& old_h, const at::Tensor& old_cell) {
  const auto z = at::addmm(bias, at::cat({old_h, input}, 1), weights.t()).chunk(3, 1);
  const at::Tensor new_cell = old_cell + at::elu(z[2]) * at::sigmoid(z[0]);
  const at::Tensor new_h = at::tanh(new_cell) * at::sigmoid(z[1]);
  return {new_h, new_cell};
}

// PyTorch knows a class by its C++ name, which no other library may bring: this namespace is the library's own.
namespace TORCH_EXTENSION_NAME {

// Weights and bias of an LLTM cell, which forward() advances by one step.
class LLTMCell : public torch::CustomClassHolder {
 public:
  // The tensors are kept as they are: whoever changes them changes the cell.
  LLTMCell(at::Tensor weights, at::Tensor bias) : weights_(std::move(weights)), bias_(std::move(bias)) {
    TORCH_CHECK(weights_.defined() && bias_.defined(), "LLTMCell: weights or bias is None, want Tensors");
    TORCH_CHECK(
        weights_.dim() == 2 && weights_.size(0) % 3 == 0 && weights_.size(0) / 3 <= weights_.size(1),
        "LLTMCell: weights has shape ", weights_.sizes(), ", want (3S, S+F)");
    check("bias", bias_, "(3S)", {weights_.size(0)});
  }

  // Takes input (B, F), old_h and old_cell (B, S); returns new_h and new_cell, each (B, S).
  std::tuple<at::Tensor, at::Tensor> step(
      const at::Tensor& input, const at::Tensor& old_h, const at::Tensor& old_cell) const {
    TORCH_CHECK(input.defined() && input.dim() > 0, "LLTMCell: input is None or a number, want a Tensor (B, F)");
    const int64_t B = input.size(0), S = weights_.size(0) / 3, F = weights_.size(1) - S;
    check("input", input, "(B, F)", {B, F});
    check("old_h", old_h, "(B, S)", {B, S});
    check("old_cell", old_cell, "(B, S)", {B, S});
    return forward(input, weights_, bias_, old_h, old_cell);
  }

  at::Tensor weights() const { return weights_; }
  at::Tensor bias() const { return bias_; }

 private:
  // Refuses what broadcasting and the promotion of types would let pass.
  void check(const char* name, const at::Tensor& tensor, const char* want, at::IntArrayRef sizes) const {
    TORCH_CHECK(tensor.defined(), "LLTMCell: ", name, " is None, want a Tensor");
    TORCH_CHECK(
        tensor.sizes() == sizes, "LLTMCell: ", name, " has shape ", tensor.sizes(), ", want ", want, " = ", sizes);
    TORCH_CHECK(
        tensor.scalar_type() == weights_.scalar_type(), "LLTMCell: ", name, " is ", tensor.scalar_type(),
        ", but weights is ", weights_.scalar_type());
    TORCH_CHECK(
        tensor.device() == weights_.device(), "LLTMCell: ", name, " is on ", tensor.device(), ", but weights is on ",
        weights_.device());
  }

  at::Tensor weights_, bias_;
};

using State = std::tuple<at::Tensor, at::Tensor>;

at::Tensor copy_of(const at::Tensor& tensor) {
  return tensor.detach().clone().set_requires_grad(tensor.requires_grad());
}

TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) {
  m.class_<LLTMCell>("LLTMCell")
      .def(torch::init<at::Tensor, at::Tensor>(), "", {torch::arg("weights"), torch::arg("bias")})
      .def("forward", &LLTMCell::step, "", {torch::arg("input"), torch::arg("old_h"), torch::arg("old_cell")})
      .def("weights", &LLTMCell::weights)
      .def("bias", &LLTMCell::bias)
      // Copies, because copy.deepcopy passes the one's result to the other as it is.
      .def_pickle(
          [](const c10::intrusive_ptr<LLTMCell>& cell) {
            return State(copy_of(cell->weights()), copy_of(cell->bias()));
          },
          [](const State& state) {
            return c10::make_intrusive<LLTMCell>(std::get<0>(state), std::get<1>(state));
          });
}

}  // namespace TORCH_EXTENSION_NAME
"""

KERNEL = Kernel("lltm/class", cpp=CPP, doc=__doc__ or "")
