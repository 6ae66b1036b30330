"""`ops.cpp` of exports without an autograd function in C++: through ATen, on the stable ABI, by pybind11."""

from __future__ import annotations

from ..filling import fill
from ..plan import Plan
from ..python.fakes import backward_parameters
from .autocast import autocast_function, cast_functions
from .text import (
    definition,
    free_name,
    gradient_names,
    head,
    listed,
    operator_schemas,
    parameters,
    returned,
    wanted,
)

_COMPOSITE = """\
@head@

// The operator. It is made of differentiable calls of ATen: autograd and torch.compile look inside.

#include <torch/library.h>

#include "checks.h"
#include "@name@.h"

namespace @name@ {
namespace {

@call@

// Autocast makes half precision of what goes into other operators; this one computes in @kinds@.
@cast@

@autocast@

TORCH_LIBRARY(@name@, m) {
@definition@
}

TORCH_LIBRARY_IMPL(@name@, CompositeImplicitAutograd, m) {
  m.impl("@op@", &@op@);
}

TORCH_LIBRARY_IMPL(@name@, AutocastCPU, m) {
  m.impl("@op@", &@op@_autocast);
}

TORCH_LIBRARY_IMPL(@name@, AutocastCUDA, m) {
  m.impl("@op@", &@op@_autocast);
}

}  // namespace
}  // namespace @name@
"""


def composite_ops(plan: Plan) -> str:
    """Write `ops.cpp` of a kernel without a `backward`."""
    return fill(
        _COMPOSITE,
        head=head(plan).rstrip("\n"),
        name=plan.name,
        op=plan.op.name,
        call=_checked(plan, plan.op.name, len(plan.op.signature.outputs)),
        kinds=" and ".join(plan.op.dtypes),
        cast=cast_functions(plan),
        autocast=autocast_function(plan, f"{plan.name}::{plan.op.name}"),
        definition="\n".join(map(definition, operator_schemas(plan))),
    )


_STABLE = """\
@head@

// The operators: their schemas. What autograd and tracers do with them is said in Python.

#include <torch/csrc/stable/library.h>

STABLE_TORCH_LIBRARY(@name@, m) {
@definitions@
}
"""


def stable_ops(plan: Plan) -> str:
    """Write `ops.cpp` of a kernel on the stable ABI."""
    definitions = "\n".join(map(definition, operator_schemas(plan)))
    return fill(_STABLE, head=head(plan).rstrip("\n"), name=plan.name, definitions=definitions)


def _checked(plan: Plan, name: str, count: int, guard: bool = False) -> str:
    """Write a function that checks the inputs, calls `forward` and returns so many of its results."""
    inputs, device = plan.op.signature.inputs, plan.parts[0].device
    names = [argument.name for argument in inputs]
    tensors = [argument.name for argument in plan.op.signature.tensors]
    lines = [listed(f"{returned(count, 'aten')} {name}(", parameters(inputs, "aten"), ") {")]
    lines.append(listed("check_inputs(", tensors, ");", 2))
    if guard:
        lines.append(f"  const c10::OptionalDeviceGuard {free_name(plan, 'guard')}(at::device_of({tensors[0]}));")
    every = len(plan.op.signature.outputs) + plan.interface.extras
    if count == every:
        lines.append(listed(f"return {device}::forward(", names, ");", 2))
    else:
        results = free_name(plan, "results")
        lines.append(listed(f"const auto {results} = {device}::forward(", names, ");", 2))
        got = ", ".join(f"std::get<{index}>({results})" for index in range(count))
        lines.append(f"  return {got if count == 1 else f'{{{got}}}'};")
    return "\n".join([*lines, "}"])


_PYBIND11 = """\
@head@

// The Python module: forward and backward as they are; autograd is in Python.

@includes@
#include <torch/extension.h>

#include "checks.h"
#include "@name@.h"

namespace @name@ {
namespace {

@forward@

@backward@
}  // namespace
}  // namespace @name@

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
@definitions@
}
"""


def pybind11_ops(plan: Plan) -> str:
    """Write `ops.cpp` of a kernel that pybind11 binds."""
    names = ["forward", *["backward"] * plan.interface.has_backward]
    docs = {
        "forward": f"{plan.op.name}: the outputs{', then what backward takes last' * bool(plan.interface.extras)}",
        "backward": "the gradients of the inputs, None where not wanted",
    }
    cuda = plan.parts[0].device == "cuda"
    lines = [f'  m.def("{name}", torch::wrap_pybind_function({plan.name}::{name}), "{docs[name]}");' for name in names]
    count = len(plan.op.signature.outputs) + plan.interface.extras
    return fill(
        _PYBIND11,
        head=head(plan).rstrip("\n"),
        includes="#include <ATen/DeviceGuard.h>\n#include <c10/core/DeviceGuard.h>" if cuda else "",
        name=plan.name,
        forward=_checked(plan, "forward", count, cuda),
        backward=_gradients(plan, cuda) if plan.interface.has_backward else "",
        definitions="\n".join(lines),
    )


def _gradients(plan: Plan, guard: bool) -> str:
    """Write `backward` of the module."""
    taken = backward_parameters(plan)
    last = free_name(plan, "wanted")
    spelled = [*parameters(taken, "aten"), f"std::array<bool, {len(wanted(plan))}> {last}"]
    lines = [listed(f"{returned(len(gradient_names(plan)), 'aten')} backward(", spelled, ") {")]
    first = next((argument.name for argument in taken if argument.type == "Tensor"), "")
    if guard and first:
        lines.append(f"  const c10::OptionalDeviceGuard {free_name(plan, 'guard')}(at::device_of({first}));")
    names = [*(argument.name for argument in taken), last]
    lines.append(listed(f"return {plan.parts[0].device}::backward(", names, ");", 2))
    return "\n".join([*lines, "}", ""])
