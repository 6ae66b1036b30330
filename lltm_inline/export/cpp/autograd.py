"""`ops.cpp` of an export: schemas, and the autograd function in C++."""

from __future__ import annotations

from collections.abc import Sequence

from ...registry import Argument
from ..filling import fill
from ..plan import Plan
from ..python.fakes import backward_parameters
from .autocast import autocast_function, cast_functions
from .text import (
    definition,
    extra_arguments,
    free_name,
    gradient_names,
    head,
    listed,
    operator_schemas,
    parameters,
    result_names,
    returned,
    wanted,
)

_OPS = """\
@head@

// The operators: their schemas, and what autograd, autocast and tracers do with them.

#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
@refusal_header@
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/library.h>

@include@

namespace @name@ {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Operators call each other through the dispatcher, so that torch.compile and the profiler see them.
@callers@

@helpers@

class @module@ : public torch::autograd::Function<@module@> {
 public:
  static constexpr bool is_traceable = true;  // compiled autograd may trace backward: it is made of operators

@forward@

@backward@
};

@below_why@
@below@

// A node of the graph is made only where somebody differentiates, backward or forward; the latter is then refused.
template <class... Tensors>
bool is_differentiated(const Tensors&... tensors) {
  return torch::autograd::compute_requires_grad(tensors...) || (torch::autograd::isFwGradDefined(tensors) || ...);
}

@autograd@

// Autocast makes half precision of what goes into other operators; the kernels compute in @kinds@.
@cast@

@autocast@

@composite@

TORCH_LIBRARY(@name@, m) {
@definitions@
}

TORCH_LIBRARY_IMPL(@name@, CompositeExplicitAutograd, m) {
  m.impl("@op@", &@op@_without_autograd);
}

TORCH_LIBRARY_IMPL(@name@, Autograd, m) {
  m.impl("@op@", &@op@_autograd);
@refused@
}

TORCH_LIBRARY_IMPL(@name@, AutocastCPU, m) {
  m.impl("@op@", &@op@_autocast);
}

TORCH_LIBRARY_IMPL(@name@, AutocastCUDA, m) {
  m.impl("@op@", &@op@_autocast);
}

@implement_composite@

}  // namespace
}  // namespace @name@
"""

_CALLER = """\
@start@
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("@name@::@operator@", "")
                             .typed<decltype(call_@operator@)>();
@call@
}
"""

_IF_DEFINED = """\
std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::make_optional(tensor) : std::nullopt;
}

"""

# What is saved tells autograd what backward depends on; an extra tensor does not.
_REFUSE = """\
// To autograd the extra tensors of forward are constants, and a second derivative would miss what goes through them. So
// a node that throws stands behind the gradients. It leads on to all that they depend on, or autograd would pass it by.
void refuse_second_derivative(const variable_list& incoming, std::initializer_list<at::Tensor*> gradients) {
  const auto node = torch::autograd::get_current_node();
  if (!at::GradMode::is_enabled() || !node) return;
  torch::autograd::edge_list edges = node->next_edges();
  for (const at::Tensor& gradient : incoming) {
    if (gradient.defined() && gradient.requires_grad()) edges.push_back(torch::autograd::impl::gradient_edge(gradient));
  }
  const std::string message = "@op@ has no second derivative";
  const auto error = c10::make_intrusive<torch::autograd::Error>(message, std::move(edges));
  for (at::Tensor* gradient : gradients) {
    if (!gradient->defined()) continue;
    *gradient = gradient->detach();
    torch::autograd::set_history(*gradient, error);
  }
}

"""


def autograd_ops(plan: Plan) -> str:
    """Write `ops.cpp` of a kernel with a `backward`."""
    op = plan.op.name
    backward, twice = _backward(plan), plan.kernel.double_backward
    refuses = "refuse_second_derivative(" in backward
    return fill(
        _OPS,
        head=head(plan).rstrip("\n"),
        refusal_header="#include <torch/csrc/autograd/functions/basic_ops.h>" if refuses else "",
        include=f'#include "{plan.name}.h"' if twice else "",
        name=plan.name,
        op=op,
        module=plan.module,
        callers="\n".join(_callers(plan)).rstrip("\n"),
        helpers=(_IF_DEFINED * ("if_defined(" in backward) + fill(_REFUSE, op=op) * refuses).rstrip("\n"),
        forward=_forward(plan),
        backward=backward,
        autograd=_autograd(plan),
        below_why="// Without autograd nobody needs the extra tensors." if extra_arguments(plan) else "",
        below=_below(plan),
        kinds=" and ".join(plan.op.dtypes),
        cast=cast_functions(plan),
        autocast=autocast_function(plan, f"call_{op}"),
        composite=_composite(plan) if twice else "",
        definitions="\n".join(map(definition, operator_schemas(plan))),
        refused=_refused(plan),
        implement_composite=f"TORCH_LIBRARY_IMPL({plan.name}, CompositeImplicitAutograd, m) {{\n"
        f'  m.impl("{op}_backward", &{op}_backward);\n}}'
        if twice
        else "",
    )


def _callers(plan: Plan) -> list[str]:
    """Write a C++ function for each operator."""
    op, signature = plan.op.name, plan.op.signature
    flags = [Argument(name, "bool") for name in wanted(plan)]
    functions = {
        op: (len(signature.outputs), signature.inputs),
        f"{op}_forward": (len(result_names(plan)), signature.inputs),
        f"{op}_backward": (len(signature.tensors), (*backward_parameters(plan), *flags)),
    }
    local = free_name(plan, "op")
    return [
        fill(
            _CALLER,
            start=listed(f"{returned(count, 'aten')} call_{name}(", parameters(arguments, "aten"), ") {"),
            operator=name,
            name=plan.name,
            call=listed("return op.call(", [argument.name for argument in arguments], ");", 2),
        )
        .replace(" op =", f" {local} =")
        .replace("return op.", f"return {local}.")
        for name, (count, arguments) in functions.items()
    ]


def _forward(plan: Plan) -> str:
    """Write `forward` of the class: it keeps what `backward` takes."""
    signature, results = plan.op.signature, result_names(plan)
    ctx = free_name(plan, "ctx")
    outputs = [output.name for output in signature.outputs]
    spelled = [f"AutogradContext* {ctx}", *parameters(signature.inputs, "aten")]
    lines = [listed("static variable_list forward(", spelled, ") {", 2)]
    lines.append(f"    const at::AutoDispatchBelowADInplaceOrView {free_name(plan, 'below_autograd')};")
    names = f"[{', '.join(results)}]" if len(results) > 1 else results[0]
    call = f"auto {names} = call_{plan.op.name}_forward("
    lines.append(listed(call, [argument.name for argument in signature.inputs], ");", 4))
    saved = [
        f"{argument.name}.value_or(at::Tensor())" if argument.type == "Tensor?" else argument.name
        for argument in _saved(plan)
        if argument.is_tensor
    ]
    if saved:
        lines.append(listed(f"{ctx}->save_for_backward({{", saved, "});", 4))
    numbers = [argument.name for argument in _saved(plan) if not argument.is_tensor]
    lines += [f'    {ctx}->saved_data["{name}"] = {name};' for name in numbers]
    optional = [argument.name for argument in signature.tensors if argument.type == "Tensor?"]
    lines += [f'    {ctx}->saved_data["has_{name}"] = {name}.has_value();' for name in optional]
    if _takes_undefined(plan):
        lines.append(f"    {ctx}->set_materialize_grads(false);")
    if not any(f"{ctx}->" in line for line in lines):
        lines[0] = lines[0].replace(f"AutogradContext* {ctx}", "AutogradContext*")
    return "\n".join([*lines, f"    return {{{', '.join(outputs)}}};", "  }"])


def _saved(plan: Plan) -> tuple[Argument, ...]:
    """List what `backward` takes behind the gradients."""
    return backward_parameters(plan)[len(plan.op.signature.outputs) :]


def _takes_undefined(plan: Plan) -> bool:
    """Tell whether `backward` takes every gradient as an optional tensor; else undefined ones become zeros."""
    return all(plan.interface.optional_grads)


def _backward(plan: Plan) -> str:
    """Write `backward` of the class."""
    signature = plan.op.signature
    ctx, incoming, saved = (free_name(plan, name) for name in ("ctx", "gradients", "saved"))
    names = gradient_names(plan)
    lines = [f"  static variable_list backward(AutogradContext* {ctx}, const variable_list& {incoming}) {{"]
    if _takes_undefined(plan):
        none = " && ".join(f"!{incoming}[{index}].defined()" for index in range(len(signature.outputs)))
        lines.append(f"    if ({none}) return variable_list({len(signature.inputs)});")
    below = free_name(plan, "below_autograd")
    lines += [
        "    // Nothing but a second derivative needs autograd for this call.",
        f"    std::optional<at::AutoDispatchBelowADInplaceOrView> {below};",
        f"    if (!at::GradMode::is_enabled()) {below}.emplace();",
        f"    const c10::impl::ExcludeDispatchKeyGuard {free_name(plan, 'no_autocast')}(c10::autocast_dispatch_keyset);",
    ]
    lines += _unpacked(plan, ctx, saved)
    flags, more = _flags(plan, ctx)
    arguments = _arguments(plan, ctx, incoming)
    target = f"[{', '.join(names)}]" if len(names) > 1 else names[0]
    lines += [*more, listed(f"auto {target} = call_{plan.op.name}_backward(", [*arguments, *flags], ");", 4)]
    if _misses_extras(plan):
        pointers = ", ".join(f"&{name}" for name in names)
        lines.append(f"    refuse_second_derivative({incoming}, {{{pointers}}});")
    results = [f"d_{a.name}" if a.is_tensor else "at::Tensor()" for a in signature.inputs]
    return "\n".join([*lines, f"    return {{{', '.join(results)}}};", "  }"])


def _unpacked(plan: Plan, ctx: str, saved: str) -> list[str]:
    """Give names to the saved tensors."""
    tensors = [argument.name for argument in _saved(plan) if argument.is_tensor]
    if not tensors:
        return []
    names = [f"{'&'}{name} = {saved}[{index}]" for index, name in enumerate(tensors)]
    return [
        f"    const variable_list {saved} = {ctx}->get_saved_variables();",
        listed("const at::Tensor ", names, ";", 4),
    ]


def _arguments(plan: Plan, ctx: str, incoming: str) -> list[str]:
    """Write what `OP_backward` is called with, ahead of the flags."""
    arguments = []
    for index, argument in enumerate(backward_parameters(plan)):
        if index < len(plan.op.signature.outputs):
            value = f"{incoming}[{index}]"
        elif argument.is_tensor:
            value = argument.name
        else:
            kind = {"float": "toDouble", "int": "toInt", "bool": "toBool"}[argument.type]
            value = f'{ctx}->saved_data["{argument.name}"].{kind}()'
        arguments.append(f"if_defined({value})" if argument.type == "Tensor?" else value)
    return arguments


def _flags(plan: Plan, ctx: str) -> tuple[Sequence[str], list[str]]:
    """Write which gradients are wanted, and the lines that this takes."""
    tensors = plan.op.signature.tensors
    if all(argument.type == "Tensor" for argument in tensors):
        return [f"{ctx}->needs_input_grad({index})" for index in range(len(tensors))], []
    edge = free_name(plan, "edge")
    lines = [f"    size_t {edge} = 0;  // autograd counts the tensors that were given"]
    for argument in tensors:
        given = f'{ctx}->saved_data["has_{argument.name}"].toBool() && ' if argument.type == "Tensor?" else ""
        lines.append(f"    const bool want_{argument.name} = {given}{ctx}->needs_input_grad({edge}++);")
    return wanted(plan), lines


def _misses_extras(plan: Plan) -> bool:
    """Tell whether gradients may depend on inputs that autograd does not see, because only extra tensors know of them.

    A saved output has all inputs behind it.
    """
    saved = set(plan.kernel.saves)
    seen = any(output.name in saved for output in plan.op.signature.outputs) or all(
        argument.name in saved for argument in plan.op.signature.tensors
    )
    return bool(plan.interface.extras) and not plan.kernel.double_backward and not seen


def _autograd(plan: Plan) -> str:
    """Write the operator for tensors that autograd watches."""
    op, signature = plan.op.name, plan.op.signature
    count = len(signature.outputs)
    names = [argument.name for argument in signature.inputs]
    tensors = [argument.name for argument in signature.tensors]
    lines = [
        listed(f"{returned(count, 'aten')} {op}_autograd(", parameters(signature.inputs, "aten"), ") {"),
        listed("if (!is_differentiated(", tensors, ")) {", 2),
        f"    const at::AutoDispatchBelowADInplaceOrView {free_name(plan, 'below_autograd')};",
        listed(f"return {op}_without_autograd(", names, ");", 4),
        "  }",
    ]
    if count == 1:
        return "\n".join([*lines, listed(f"return {plan.module}::apply(", names, ")[0];", 2), "}"])
    outputs = free_name(plan, "outputs")
    results = ", ".join(f"{outputs}[{index}]" for index in range(count))
    apply = listed(f"const variable_list {outputs} = {plan.module}::apply(", names, ");", 2)
    return "\n".join([*lines, apply, f"  return {{{results}}};", "}"])


def _below(plan: Plan) -> str:
    op, signature = plan.op.name, plan.op.signature
    count = len(signature.outputs)
    names = [argument.name for argument in signature.inputs]
    start = listed(f"{returned(count, 'aten')} {op}_without_autograd(", parameters(signature.inputs, "aten"), ") {")
    call = f"call_{op}_forward("
    if not extra_arguments(plan):
        body = [listed(f"return {call}", names, ");", 2)]
    elif count == 1:
        body = [listed(f"return std::get<0>({call}", names, "));", 2)]
    else:
        results = result_names(plan)
        body = [listed(f"auto [{', '.join(results)}] = {call}", names, ");", 2)]
        body.append(f"  return {{{', '.join(results[:count])}}};")
    return "\n".join([start, *body, "}"])


def _composite(plan: Plan) -> str:
    """Write `OP_backward` of a kernel whose `backward` is differentiable."""
    taken, gradients = backward_parameters(plan), gradient_names(plan)
    spelled = [*parameters(taken, "aten"), *(f"bool {flag}" for flag in wanted(plan))]
    start = listed(f"{returned(len(gradients), 'aten')} {plan.op.name}_backward(", spelled, ") {")
    arguments = [*(argument.name for argument in taken), f"{{{', '.join(wanted(plan))}}}"]
    call = listed(f"return {plan.parts[0].device}::backward(", arguments, ");", 2)
    return "\n".join(
        ["// Made of differentiable calls of ATen, so that it may be differentiated again.", start, call, "}"]
    )


def _refused(plan: Plan) -> str:
    op = plan.op.name
    fallback = "torch::autograd::autogradNotImplementedFallback()"
    lines = ["  // These alone have no derivative: to ask for one, or for a second one of the above, is an error."]
    if plan.kernel.double_backward:
        lines = ["  // This alone has no derivative: to ask for one is an error."]
    lines.append(f'  m.impl("{op}_forward", {fallback});')
    if not plan.kernel.double_backward:
        lines.append(f'  m.impl("{op}_backward", {fallback});')
    return "\n".join(lines)
