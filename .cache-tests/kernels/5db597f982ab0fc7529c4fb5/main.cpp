// The autograd bridge: gives any registered `forward` and `backward` pair a place in autograd.
//
// It is compiled once per machine and serves every kernel. In the text of each kernel the same thing
// (`torch::autograd::Function`) would cost four seconds per edit, and kernels on the stable ABI could not have it at all;
// in Python it would cost several microseconds per call.
//
// `attach` defines the operator `call` of a kernel's namespace:
//
//     forward:   results = forward(inputs);  keep the inputs and outputs that backward saves, and the extra results
//     backward:  gradients = backward(d_outputs, saved, extras, which gradients are wanted)
//
// Undefined incoming gradients become zeros, or nothing where backward takes an optional tensor; when all of them are
// undefined, so are the results. A gradient of a wrong shape is an error: autograd alone would sum it to size.
// A second derivative is an error when it is asked for, as with `once_differentiable`, unless backward differentiates itself.
// Under autocast, tensors of half precision become float32.

// The bridge's half in the backward pass: the node of one call of a kernel in autograd's graph.

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


#include <dlfcn.h>

#include <algorithm>

namespace {

// What the interpreter has, by its name in Python's stable ABI. Looked up when it is needed, so that neither Python's headers
// nor pybind11 are: as weak names they link with some compilers and linkers, and not with clang++ and GNU ld.
template <class T>
T* of_python(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  TORCH_INTERNAL_ASSERT(found, "this process has no ", name);
  return reinterpret_cast<T*>(found);
}

// TORCH_WARN in a kernel is a Python warning, as in torch's own functions.
struct PythonWarnings : public c10::WarningHandler {
  void process(const c10::Warning& warning) override {
    static auto* const ensure = of_python<int()>("PyGILState_Ensure");
    static auto* const release = of_python<void(int)>("PyGILState_Release");
    static auto* const warn = of_python<int(_object*, const char*, ssize_t)>("PyErr_WarnEx");
    static auto* const clear = of_python<void()>("PyErr_Clear");
    static auto* const category = of_python<_object*>("PyExc_UserWarning");
    const int gil = ensure();
    const bool refused = warn(*category, warning.msg().c_str(), 3) != 0;  // 3: the line that called the kernel
    if (refused) clear();
    release(gil);
    if (refused) throw std::runtime_error(warning.msg());  // a filter made an error of it
  }
};
thread_local PythonWarnings python_warnings;

// Wrappers of functorch and tracers have no storage.
bool aliases(const Tensor& output, const Tensor& input) {
  return input.defined() && output.has_storage() && input.has_storage() && output.is_alias_of(input) && output.sym_numel() != 0;
}

// Run `forward` and leave only the outputs on the stack.
void forward_only(const Spec& spec, Stack* stack) {
  std::vector<Tensor> changed;
  for (const int64_t position : spec.changed) {
    const c10::IValue& value = torch::jit::peek(*stack, position, spec.inputs);
    if (value.isTensor()) {
      changed.push_back(value.toTensor());
    } else {
      for (const Tensor& one : value.toTensorVector()) changed.push_back(one);
    }
  }
  for (const Tensor& input : changed) {
    TORCH_CHECK(
        !(c10::GradMode::is_enabled() && input.requires_grad()), spec.kernel,
        " changes a tensor in place that wants a gradient: call it under torch.no_grad()");
  }
  spec.forward.callBoxed(*stack);
  torch::jit::drop(*stack, spec.extras);
  for (const Tensor& input : changed) {
    if (!input.is_inference()) input.unsafeGetTensorImpl()->bump_version();
  }
}

void forward_with_graph(const std::shared_ptr<const Spec>& spec, Stack* stack, variable_list inputs) {
  const auto node = make_node<NodePointer, KernelNode>(spec);
  node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  const size_t base = stack->size() - spec->inputs;
  std::vector<c10::IValue> arguments;
  std::transform(stack->begin() + base, stack->end(), std::back_inserter(arguments), for_a_call);
  {
    at::AutoDispatchBelowADInplaceOrView below;
    spec->forward.callBoxed(*stack);
  }
  auto results = torch::jit::last(*stack, spec->outputs + spec->extras);
  for (int64_t i = 0; i < spec->outputs; ++i) {
    const Tensor& output = results[i].toTensor();
    for (const Tensor& input : inputs) {
      TORCH_CHECK(!output.is_same(input), spec->kernel, ": output ", i, " is an input itself; return a new tensor");
      TORCH_CHECK(
          !aliases(output, input), spec->kernel, ": output ", i, " shares its memory with an input; return a new tensor");
    }
    node->output_kinds.push_back({c10::SymDimVector(output.sym_sizes()), output.options()});
    if (torch::autograd::isDifferentiableType(output.scalar_type())) {
      torch::autograd::set_history(output, node);
    } else {
      node->add_input_metadata(torch::autograd::Node::undefined_input());  // counts and indices: a place, but no gradient
    }
  }
  for (const int64_t index : spec->saves) {
    const bool is_output = index >= spec->inputs;
    const c10::IValue& value = is_output ? c10::IValue(results[index - spec->inputs]) : arguments[index];
    const bool is_tensor = value.isTensor();
    node->saved.emplace_back(is_tensor ? SavedVariable(value.toTensor(), is_output) : SavedVariable());
    node->constants.emplace_back(is_tensor ? std::nullopt : std::make_optional(value));
  }
  for (int64_t i = 0; i < spec->extras; ++i) {
    const Tensor& extra = results[spec->outputs + i].toTensor();
    // An output that is returned again to be saved must be known as one: the node would own itself.
    bool is_output = false;
    for (int64_t j = 0; j < spec->outputs; ++j) is_output |= results[j].toTensor().is_same(extra);
    node->extras.emplace_back(extra, is_output);
  }
  torch::jit::drop(*stack, spec->extras);
}

void refuse_forward_mode(const std::string& kernel, const Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(!tensor._fw_grad(0).defined(), kernel, ": forward-mode differentiation is not supported");
}

// The kernel of `call` for tensors that autograd watches.
struct AutogradCall : public c10::OperatorKernel {
  explicit AutogradCall(std::shared_ptr<const Spec> spec) : spec(std::move(spec)) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
    const c10::WarningUtils::WarningHandlerGuard guard(&python_warnings);
    const auto arguments = torch::jit::last(*stack, spec->inputs);
    variable_list inputs;
    inputs.reserve(spec->tensors.size());
    bool any = false;
    for (const int64_t position : spec->tensors) {
      inputs.push_back(arguments[position].isTensor() ? arguments[position].toTensor() : Tensor());
      const Tensor& input = inputs.back();
      any |= input.defined() && input.requires_grad();
      if (input.defined()) refuse_forward_mode(spec->kernel, input);
    }
    if (any && c10::GradMode::is_enabled()) {
      forward_with_graph(spec, stack, std::move(inputs));
    } else {
      at::AutoDispatchBelowADInplaceOrView below;
      forward_only(*spec, stack);
    }
  }
  std::shared_ptr<const Spec> spec;
};

// The kernel of `call` for everything else (inference mode, meta tensors), and for kernels that differentiate through ATen.
struct PlainCall : public c10::OperatorKernel {
  explicit PlainCall(std::shared_ptr<const Spec> spec) : spec(std::move(spec)) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
    const c10::WarningUtils::WarningHandlerGuard guard(&python_warnings);
    forward_only(*spec, stack);
  }
  std::shared_ptr<const Spec> spec;
};

// The kernel of `forward` and `backward` themselves for tensors that autograd watches: torch.func differentiates at several
// levels at once, and all but the innermost one see these two in place of `call`.
struct NoDerivative : public c10::OperatorKernel {
  explicit NoDerivative(std::shared_ptr<const Spec> spec) : spec(std::move(spec)) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    torch::autograd::edge_list edges;
    for (const c10::IValue& value : torch::jit::last(*stack, op.schema().arguments().size())) {
      if (!value.isTensor() || !value.toTensor().defined()) continue;
      const Tensor& tensor = value.toTensor();
      refuse_forward_mode(spec->kernel, tensor);
      if (tensor.requires_grad()) edges.push_back(torch::autograd::impl::gradient_edge(tensor));
    }
    {
      at::AutoDispatchBelowADInplaceOrView below;
      op.callBoxed(*stack);
    }
    if (edges.empty() || !c10::GradMode::is_enabled()) return;
    const auto error = no_second_derivative(spec->kernel, std::move(edges));
    const size_t count = op.schema().returns().size();
    for (size_t i = stack->size() - count; i < stack->size(); ++i) {
      if (!(*stack)[i].isTensor()) continue;
      const Tensor& result = (*stack)[i].toTensor();
      if (!result.defined() || !torch::autograd::isDifferentiableType(result.scalar_type())) continue;
      (*stack)[i] = watched_by(error, result);
    }
  }
  std::shared_ptr<const Spec> spec;
};

// The kernel of `call` under autocast: what other operators have made of half precision becomes float32 again.
struct AutocastCall : public c10::OperatorKernel {
  explicit AutocastCall(std::shared_ptr<const Spec> spec) : spec(std::move(spec)) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard below(c10::autocast_dispatch_keyset);
    for (const int64_t position : spec->cast) {
      c10::IValue& value = torch::jit::peek(*stack, position, spec->inputs);
      if (!value.isTensor()) continue;
      const auto dtype = value.toTensor().scalar_type();
      if (dtype == at::kHalf || dtype == at::kBFloat16) value = value.toTensor().to(at::kFloat);
    }
    op.callBoxed(*stack);
  }
  std::shared_ptr<const Spec> spec;
};

void attach(
    const std::string& space, const std::string& kernel, const std::string& schema, bool has_backward, bool through_aten,
    bool twice, const std::vector<std::string>& names, std::vector<int64_t> tensors, std::vector<int64_t> changed,
    std::vector<int64_t> cast, std::vector<int64_t> saves, int64_t inputs, int64_t outputs, int64_t extras) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto find = [&](const char* name) { return dispatcher.findSchemaOrThrow((space + "::" + name).c_str(), ""); };
  auto spec = std::make_shared<Spec>(Spec{
      kernel, find("forward"), has_backward ? std::make_optional(find("backward")) : std::nullopt, names, std::move(tensors),
      std::move(changed), std::move(cast), std::move(saves), inputs, outputs, extras, twice});
  // Registrations live as long as their Library; a kernel's stay for the life of the process, as its library does.
  auto* library = new torch::Library(torch::Library::FRAGMENT, space, std::nullopt, __FILE__, __LINE__);
  library->def(schema.c_str());
  const auto plain = through_aten ? c10::DispatchKey::CompositeImplicitAutograd : c10::DispatchKey::CompositeExplicitAutograd;
  library->impl("call", torch::dispatch(plain, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<PlainCall>(spec))));
  for (const auto key : {c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA}) {
    auto cast = torch::CppFunction::makeFromBoxedFunctor(std::make_unique<AutocastCall>(spec));
    library->impl("call", torch::dispatch(key, std::move(cast)));
  }
  if (!through_aten) {
    auto watched = torch::CppFunction::makeFromBoxedFunctor(std::make_unique<AutogradCall>(spec));
    library->impl("call", torch::dispatch(c10::DispatchKey::Autograd, std::move(watched)));
    for (const char* name : {"forward", "backward"}) {
      if (name == std::string("backward") && (twice || !has_backward)) continue;
      auto refused = torch::CppFunction::makeFromBoxedFunctor(std::make_unique<NoDerivative>(spec));
      library->impl(name, torch::dispatch(c10::DispatchKey::Autograd, std::move(refused)));
    }
  }
}

TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) {
  m.def(
      "attach(str space, str kernel, str schema, bool has_backward, bool through_aten, bool twice, str[] names, int[] tensors, "
      "int[] changed, int[] cast, int[] saves, int inputs, int outputs, int extras) -> ()",
      [](std::string space, std::string kernel, std::string schema, bool has_backward, bool through_aten, bool twice,
         std::vector<std::string> names, std::vector<int64_t> tensors, std::vector<int64_t> changed, std::vector<int64_t> cast,
         std::vector<int64_t> saves, int64_t inputs, int64_t outputs, int64_t extras) {
        attach(
            space, kernel, schema, has_backward, through_aten, twice, names, std::move(tensors), std::move(changed),
            std::move(cast), std::move(saves), inputs, outputs, extras);
      });
}

}  // namespace
