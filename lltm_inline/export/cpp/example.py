"""`example/main.cpp` of an export: a program that calls the operators without Python."""

from __future__ import annotations

from typing import Any

from ..class_text import EXAMPLE_HEADERS, custom_class, example_call, example_text
from ..filling import fill
from ..plan import Plan
from ..python.fakes import backward_parameters
from .checks import extent
from .text import comment, free_name, gradient_names, head, listed, result_names, returned

_MAIN = """\
@head@

@intro@

@includes@

@standard_includes@

@class_function@
int main() {
@body@
}
"""


_INTRO = (
    "Calls {op} without Python. The library that is linked registers its operators, which are found by name: no header of "
    "it is needed."
)


def example_program(plan: Plan) -> str:
    """Write the program: it makes inputs, calls the operator, goes backward and prints what came out."""
    op = plan.op
    custom = custom_class(plan)
    names = result_names(plan) if plan.style == "stable" else [output.name for output in op.signature.outputs]
    lines = [*_device(plan), *_inputs(plan), ""]
    lines += _stable_calls(plan, names) if plan.style == "stable" else _calls(plan, names)
    if custom is not None:
        same = free_name(plan, "same")
        call = example_call(plan, custom, op.signature.outputs[0].name, f'"{plan.name}.pt"')
        lines += ["", f"  const bool {same} = {call};"]
        lines.append(
            f'  std::cout << "{custom.name}, saved and loaded, computes " << ({same} ? "the same" : "something else") << \'\\n\';'
        )
        lines.append(f"  return {same} ? 0 : 1;")
    headers = ["ATen/core/dispatch/Dispatcher.h", "ATen/ops/rand.h"]
    if plan.style == "stable":
        headers.append("ATen/ops/ones_like.h")
    elif len(names) > 1:
        headers.append("ATen/TensorOperators.h")  # for the sum of which it goes backward
    headers += ["ATen/Context.h"] if plan.parts[0].device == "cuda" else []
    more: list[str] = []
    if custom is not None:
        headers += ["ATen/ops/allclose.h", *(name for name in EXAMPLE_HEADERS if "/" in name)]
        more = [name for name in EXAMPLE_HEADERS if "/" not in name]
    system = "\n".join(f"#include <{name}>" for name in sorted({*more, "iostream"}))
    return fill(
        _MAIN,
        head=head(plan).rstrip("\n"),
        intro=comment(_INTRO.format(op=op.name)).rstrip("\n"),
        includes="\n".join(f"#include <{name}>" for name in sorted(headers)),
        standard_includes=system,
        class_function="" if custom is None else example_text(plan, custom),
        body="\n".join(lines),
    )


def _device(plan: Plan) -> list[str]:
    if plan.parts[0].device != "cuda":
        return []
    return [
        "  if (!at::hasCUDA()) {",
        '    std::cout << "no GPU here: nothing was called\\n";',
        "    return 0;",
        "  }",
    ]


def _inputs(plan: Plan) -> list[str]:
    """Write the inputs: random tensors of the size at which gradients are checked, and the op's own numbers."""
    op = plan.op
    values = _values(plan)
    shapes = [
        f"{{{', '.join(extent(dim) for dim in op.shape_of[argument.name].dims)}}}"
        for argument in op.signature.tensors
        if values[argument.name] is not None
    ]
    used = [letter for letter in plan.check_size if any(letter in shape for shape in shapes)]
    lines = (
        [listed("const int64_t ", [f"{letter} = {plan.check_size[letter]}" for letter in used], ";", 2)] if used else []
    )
    dtype = {
        "float32": "",
        "float64": "at::kDouble",
        "complex64": "at::kComplexFloat",
        "complex128": "at::kComplexDouble",
    }[op.dtypes[0]]
    place = "at::kCUDA" if plan.parts[0].device == "cuda" else ""
    options = f", at::device({place}).dtype({dtype or 'at::kFloat'})" if place else f", {dtype}" * bool(dtype)
    trained = op.parameters or tuple(argument.name for argument in op.signature.tensors)
    for argument in op.signature.inputs:
        value = values[argument.name]
        if argument.is_tensor and value is not None:
            grad = ".requires_grad_()" if argument.name in trained and plan.style != "stable" else ""
            lines.append(f"  const at::Tensor {argument.name} = at::rand({shapes.pop(0)}{options}){grad};")
        elif argument.is_tensor:
            lines.append(f"  const std::optional<at::Tensor> {argument.name};")
        else:
            kind = {"float": "double", "int": "int64_t", "bool": "bool"}[argument.type]
            spelled = {True: "true", False: "false"}[value] if argument.type == "bool" else repr(value)
            lines.append(f"  const {kind} {argument.name} = {spelled};")
    return lines


def _values(plan: Plan) -> dict[str, Any]:
    """Make the op's inputs, to know its numbers and which of the optional tensors are there."""
    import torch

    dtype = getattr(torch, plan.op.dtypes[0]).to_real()

    def randn(*shape: int) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype)

    made = plan.op.make_inputs(randn, tuple(plan.check_size.values()))
    return {argument.name: value for argument, value in zip(plan.op.signature.inputs, made, strict=True)}


def _handle(plan: Plan, operator: str, count: int, types: list[str], variable: str, alias: str) -> list[str]:
    """Write what finds an operator, with the type of its function."""
    start = f"  const auto {variable} ="
    found = f'c10::Dispatcher::singleton().findSchemaOrThrow("{plan.name}::{operator}", "").typed<{alias}>();'
    line = f"{start} {found}"
    return [
        listed(f"using {alias} = {returned(count, 'aten')}(", types, ");", 2),
        line if len(line) <= 120 else f"{start}\n      {found}",
    ]


_TYPES = {
    "Tensor": "const at::Tensor&",
    "Tensor?": "const std::optional<at::Tensor>&",
    "float": "double",
    "int": "int64_t",
    "bool": "bool",
}


def _calls(plan: Plan, names: list[str]) -> list[str]:
    """Call the operator and let autograd go backward."""
    op = plan.op
    inputs = op.signature.inputs
    variable = free_name(plan, op.name)
    target = f"[{', '.join(names)}]" if len(names) > 1 else names[0]
    lines = _handle(plan, op.name, len(names), [_TYPES[argument.type] for argument in inputs], variable, "Call")
    lines.append(listed(f"const auto {target} = {variable}.call(", [argument.name for argument in inputs], ");", 2))
    lines += _printed(names)
    magnitude = ".abs()" if op.dtypes[0].startswith("complex") else ""
    total = " + ".join(f"{name}{magnitude}.sum()" for name in names)
    values = _values(plan)
    trained = op.parameters or tuple(a.name for a in op.signature.tensors if values[a.name] is not None)
    lines += ["", f"  ({total}).backward();" if len(names) > 1 else f"  {total}.backward();"]
    gradient = f"{trained[0]}.grad(){magnitude}.sum().item<double>()"
    lines.append(f"  std::cout << \"sum of the gradient of {trained[0]}: \" << {gradient} << '\\n';")
    return lines


def _stable_calls(plan: Plan, names: list[str]) -> list[str]:
    """Call forward and backward: the operator that autograd knows is made in Python, on the stable ABI."""
    op, signature = plan.op, plan.op.signature
    forward, backward = free_name(plan, "forward"), free_name(plan, "backward")
    lines = _handle(
        plan, f"{op.name}_forward", len(names), [_TYPES[a.type] for a in signature.inputs], forward, "Forward"
    )
    target = f"[{', '.join(names)}]" if len(names) > 1 else names[0]
    lines.append(listed(f"const auto {target} = {forward}.call(", [a.name for a in signature.inputs], ");", 2))
    lines += [*_printed([output.name for output in signature.outputs]), ""]
    taken, gradients = backward_parameters(plan), gradient_names(plan)
    types = [_TYPES[argument.type] for argument in taken] + ["bool"] * len(gradients)
    lines += _handle(plan, f"{op.name}_backward", len(gradients), types, backward, "Backward")
    incoming = [f"at::ones_like({output.name})" for output in signature.outputs]
    arguments = [*incoming, *(argument.name for argument in taken[len(incoming) :]), *["true"] * len(gradients)]
    target = f"[{', '.join(gradients)}]" if len(gradients) > 1 else gradients[0]
    lines.append(listed(f"const auto {target} = {backward}.call(", arguments, ");", 2))
    trained = f"d_{op.parameters[0]}" if op.parameters else gradients[0]
    lines.append(f"  std::cout << \"sum of {trained}: \" << {trained}.sum().item<double>() << '\\n';")
    return lines


def _printed(names: list[str]) -> list[str]:
    return [f"  std::cout << \"{name} \" << {name}.sizes() << '\\n';" for name in names]
