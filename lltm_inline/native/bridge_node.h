// The bridge's half in the backward pass: the node of one call of a kernel in autograd's graph.

#define AT_PER_OPERATOR_HEADERS  // torch's own headers include the operators that they use, and not all: a fifth of the time
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

namespace {

using at::Tensor;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using torch::jit::Stack;

// What is known of one kernel: its two operators, and which values go where.
struct Spec {
  std::string kernel;
  c10::OperatorHandle forward;
  std::optional<c10::OperatorHandle> backward;
  std::vector<std::string> names;  // of the inputs that have a gradient
  std::vector<int64_t> tensors;    // their positions among the inputs
  std::vector<int64_t> changed;    // positions of the inputs that are changed in place
  std::vector<int64_t> cast;       // positions of those that become float32 under autocast
  std::vector<int64_t> saves;      // position among the inputs, or number of inputs + position among the outputs
  int64_t inputs, outputs, extras;
  bool twice;  // backward is differentiable itself

  bool takes_undefined(size_t output) const {
    return backward->schema().arguments()[output].type()->kind() == c10::TypeKind::OptionalType;
  }
};

// A value as a call may have it: torch takes the tensors out of a list that it hands to a kernel, whoever else holds that list.
c10::IValue for_a_call(const c10::IValue& value) {
  return value.isList() ? c10::IValue(value.toList().copy()) : value;
}

struct OutputKind {
  c10::SymDimVector sizes;
  at::TensorOptions options;
};

struct KernelNode : public torch::autograd::Node {
  explicit KernelNode(std::shared_ptr<const Spec> spec) : spec(std::move(spec)) {}

  std::string name() const override {
    return spec->kernel;
  }

  variable_list apply(variable_list&& gradients) override {
    std::lock_guard<std::mutex> guard(mutex_);
    TORCH_CHECK(!released, torch::autograd::ERR_BACKWARD_TWICE);
    const size_t count = spec->tensors.size();
    if (std::none_of(gradients.begin(), gradients.end(), [](const Tensor& gradient) { return gradient.defined(); })) {
      return variable_list(count);
    }
    Stack stack;
    stack.reserve(gradients.size() + saved.size() + extras.size() + spec->tensors.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
      const auto& [sizes, options] = output_kinds[i];
      if (gradients[i].defined()) {
        stack.emplace_back(gradients[i]);
      } else if (spec->takes_undefined(i)) {
        stack.emplace_back();
      } else {
        stack.emplace_back(at::zeros_symint(sizes, options));
      }
    }
    for (size_t i = 0; i < saved.size(); ++i) {
      if (constants[i].has_value()) {
        stack.push_back(for_a_call(*constants[i]));
      } else {
        stack.emplace_back(saved[i].unpack(spec->saves[i] >= spec->inputs ? getptr() : nullptr));
      }
    }
    for (auto& extra : extras) {
      stack.emplace_back(extra.unpack(getptr()));
    }
    for (size_t i = 0; i < count; ++i) {
      stack.emplace_back(task_should_compute_output(i));
    }
    const bool create_graph = c10::GradMode::is_enabled();
    {
      // With a graph, an outer level of torch.func, or of autograd around it, must see backward: NoDerivative refuses there.
      std::optional<at::AutoDispatchBelowADInplaceOrView> below;
      if (!create_graph) below.emplace();
      const c10::impl::ExcludeDispatchKeyGuard uncast(c10::autocast_dispatch_keyset);
      spec->backward->callBoxed(stack);
    }
    TORCH_CHECK(stack.size() == count, spec->kernel, ": backward returned ", stack.size(), " gradients, want ", count);
    variable_list results(count);
    for (size_t i = 0; i < count; ++i) {
      Tensor gradient = stack[i].isTensor() ? std::move(stack[i]).toTensor() : Tensor();
      if (task_should_compute_output(i) && gradient.defined()) {
        check_shape(i, gradient);
        results[i] = std::move(gradient);
      }
    }
    if (create_graph && !spec->twice) {
      refuse_second_derivative(gradients, results);
    }
    return results;
  }

  // Puts a node behind the gradients that throws when it is reached. It leads on to all that they depend on, or autograd
  // would not walk through it and take the second derivative for zero.
  void refuse_second_derivative(const variable_list& gradients, variable_list& results);

  // Autograd sums a gradient of shape (1, N) to (N) without a word; a kernel that returns one is wrong.
  void check_shape(size_t i, const Tensor& gradient) {
    const auto& edge = next_edge(i);
    const auto want = edge.function->input_metadata(edge.input_nr).shape_as_dim_vector();
    TORCH_CHECK(
        gradient.sym_sizes() == c10::SymIntArrayRef(want), spec->kernel, ": backward returned d_", spec->names[i], " of shape ",
        gradient.sym_sizes(), ", want ", c10::SymIntArrayRef(want));
  }

  void release_variables() override {
    std::lock_guard<std::mutex> guard(mutex_);
    for (auto& variable : saved) variable.reset_data();
    for (auto& variable : extras) variable.reset_data();
    released = true;
  }

  std::shared_ptr<const Spec> spec;
  std::vector<SavedVariable> saved;
  std::vector<std::optional<c10::IValue>> constants;  // saved values that are no tensors, beside `saved`
  std::vector<SavedVariable> extras;
  std::vector<OutputKind> output_kinds;
  bool released = false;
};

// Up to torch 2.12 autograd holds its nodes in std::shared_ptr, since then in c10::intrusive_ptr.
using NodePointer = decltype(torch::autograd::Edge::function);

template <class Pointer, class T, class... Args>
c10::intrusive_ptr<T> make_node(Args&&... args)
  requires(!std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>)
{
  return c10::make_intrusive<T>(std::forward<Args>(args)...);
}

template <class Pointer, class T, class... Args>
std::shared_ptr<T> make_node(Args&&... args)
  requires(std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>)
{
  // deleteNode takes long graphs down without recursion; only older versions of torch have it, so it is found by its argument.
  return std::shared_ptr<T>(new T(std::forward<Args>(args)...), [](auto* node) { deleteNode(node); });
}

// A node that throws when it is reached.
NodePointer no_second_derivative(const std::string& kernel, torch::autograd::edge_list edges) {
  return make_node<NodePointer, torch::autograd::Error>(
      "kernel " + kernel +
          " has no second derivative: its backward is not differentiable. "
          "Use a kernel that differentiates through ATen, or the reference",
      std::move(edges));
}

// A view of the tensor with the node behind it: the tensor itself may be an argument. Other than detach, it leaves the outer
// levels of torch.func alone. Keys excluded in a backward pass stay excluded at those levels, too: there the view gets a
// history as any does, and the node in its place.
Tensor watched_by(const NodePointer& node, const Tensor& tensor) {
  Tensor view = [&] {
    std::optional<at::AutoDispatchBelowADInplaceOrView> below;
    if (!tensor.key_set().has(c10::DispatchKey::FuncTorchGradWrapper)) below.emplace();
    return at::alias(tensor);
  }();
  torch::autograd::set_history(view, node);
  return view;
}

void KernelNode::refuse_second_derivative(const variable_list& gradients, variable_list& results) {
  torch::autograd::edge_list edges = next_edges();
  for (const Tensor& gradient : gradients) {
    if (gradient.defined() && gradient.requires_grad()) edges.push_back(torch::autograd::impl::gradient_edge(gradient));
  }
  const auto error = no_second_derivative(spec->kernel, std::move(edges));
  for (Tensor& result : results) {
    if (!result.defined()) continue;
    result = watched_by(error, result);
  }
}

}  // namespace
