"""`cpu_ops.cpp` and `cuda_ops.cpp` of an export: the operators on one device."""

from __future__ import annotations

from collections.abc import Sequence

from ...registry import Argument
from ..filling import fill
from ..plan import Part, Plan
from ..python.fakes import backward_parameters
from .text import (
    extra_arguments,
    free_name,
    gradient_names,
    head,
    listed,
    parameters,
    result_names,
    returned,
    wanted,
)

_OPS = """\
@head@

// The operators on @words@: inputs that fit go in, results with memory of their own come out.

@includes@
@library@

#include "checks.h"
#include "@name@.h"

namespace @name@ {
namespace {

@forward@

@backward@

@implement@

}  // namespace
}  // namespace @name@
"""

_IMPLEMENT = """\
TORCH_LIBRARY_IMPL(@name@, @key@, m) {
  m.impl("@op@_forward", &@op@_forward);
@more@
}"""


def device_ops(plan: Plan, part: Part) -> str:
    """Write the operators of a kernel with a `backward` on one device."""
    op, cuda, stable = plan.op.name, part.device == "cuda", plan.style == "stable"
    twice = plan.kernel.double_backward  # then backward is the same on every device
    implement = fill(
        _IMPLEMENT,
        name=plan.name,
        op=op,
        key=part.device.upper(),
        more="" if twice else f'  m.impl("{op}_backward", &{op}_backward);',
    )
    if stable:
        implement = "STABLE_" + implement.replace("&", "TORCH_BOX(&").replace(");", "));")
    return fill(
        _OPS,
        head=head(plan).rstrip("\n"),
        words="CUDA devices" if cuda else "the CPU",
        includes="#include <ATen/DeviceGuard.h>\n#include <c10/core/DeviceGuard.h>" if cuda else "",
        library=f"#include <torch/{'csrc/stable/' * stable}library.h>",
        name=plan.name,
        forward=_forward(plan, part),
        backward="" if twice else _backward(plan, part),
        implement=implement,
    )


def _forward(plan: Plan, part: Part) -> str:
    inputs, api = plan.op.signature.inputs, plan.kernel.api
    results = result_names(plan)
    lines = [listed(f"{returned(len(results), api)} {plan.op.name}_forward(", parameters(inputs, api), ") {")]
    lines.append(listed("check_inputs(", [argument.name for argument in plan.op.signature.tensors], ");", 2))
    lines += _guard(plan, part, inputs)
    call = (f"{part.device}::forward(", [argument.name for argument in inputs], ");")
    return "\n".join([*lines, *_settled(plan, call, results, inputs), "}"])


def _backward(plan: Plan, part: Part) -> str:
    taken, api = backward_parameters(plan), plan.kernel.api
    gradients, flags = gradient_names(plan), wanted(plan)
    spelled = [*parameters(taken, api), *(f"bool {flag}" for flag in flags)]
    lines = [listed(f"{returned(len(gradients), api)} {plan.op.name}_backward(", spelled, ") {")]
    lines += _guard(plan, part, taken)
    outputs = {output.name for output in plan.op.signature.outputs}
    own = [argument.name for argument in taken if argument.name in outputs or argument in extra_arguments(plan)]
    made = "dense({})" if plan.style == "stable" else "{}.contiguous()"
    arguments = [made.format(argument.name) if argument.name in own else argument.name for argument in taken]
    if own:
        lines.append("  // Hooks on saved tensors may have given them other strides than forward did.")
    call = (f"{part.device}::backward(", [*arguments, f"{{{', '.join(flags)}}}"], ");")
    return "\n".join([*lines, *_settled(plan, call, gradients, taken), "}"])


def _guard(plan: Plan, part: Part, arguments: Sequence[Argument]) -> list[str]:
    """Make the device of the tensors the current one."""
    first = next((argument.name for argument in arguments if argument.type == "Tensor"), None)
    if part.device != "cuda" or first is None:
        return []
    return [f"  const c10::OptionalDeviceGuard {free_name(plan, 'guard')}(at::device_of({first}));"]


def _settled(
    plan: Plan, call: tuple[str, list[str], str], results: Sequence[str], arguments: Sequence[Argument]
) -> list[str]:
    """Call the kernel, give its results memory of their own, and return them."""
    pointers = [_pointer(argument) for argument in arguments if argument.is_tensor]
    own = _own_memory([f"&{name}" for name in results], pointers)
    if len(results) == 1:
        name = results[0]
        kind = returned(1, plan.kernel.api)
        return [listed(f"{kind} {name} = {call[0]}", call[1], call[2], 2), own, f"  return {name};"]
    every = free_name(plan, "results")
    return [
        listed(f"auto {every} = {call[0]}", call[1], call[2], 2),
        f"  auto& [{', '.join(results)}] = {every};",
        own,
        f"  return {every};",
    ]


def _own_memory(results: list[str], arguments: list[str]) -> str:
    line = f"  own_memory({{{', '.join(results)}}}, {{{', '.join(arguments)}}});"
    if len(line) <= 120:
        return line
    return "\n".join(["  own_memory(", listed("{", results, "},", 6), listed("{", arguments, "});", 6)])


def _pointer(argument: Argument) -> str:
    return f"&{argument.name}" if argument.type == "Tensor" else f"{argument.name} ? &*{argument.name} : nullptr"
