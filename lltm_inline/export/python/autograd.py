"""Writes the autograd of an export in Python, where its C++ has none: on the stable ABI, and bound by pybind11."""

from __future__ import annotations

from ..filling import fill, sequence
from ..plan import Plan
from .fakes import backward_parameters, extra_names, function_head, parameters, results_annotation

_REGISTERED = """\
# Autograd: the gradients of @op@_forward come from @op@_backward, which has none itself.


@setup@


@backward@


def _no_second_derivative(ctx: Any, *gradients: Tensor) -> None:
    @refuse@


torch.library.register_autograd("@name@::@op@_forward", _backward, setup_context=_setup_context)
torch.library.register_autograd("@name@::@op@_backward", _no_second_derivative)
"""

_AUTOCAST = """\
# Autocast makes half precision of what goes into other operators; the kernel computes in float32 and float64.
torch.library.register_autocast("@name@::@op@_forward", "cpu", torch.float32)
torch.library.register_autocast("@name@::@op@_forward", "cuda", torch.float32)
"""

_CLASSIC = '''\
class _@module@(torch.autograd.Function):
    """The compiled `forward` and `backward` as a function that autograd knows."""

    @staticmethod
    @forward@

    @staticmethod
    @backward@
'''

_ONCE = '''\
class _Backward(torch.autograd.Function):
    """The compiled `backward`: what it gives cannot be differentiated, and to try is an error."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> @gradients@:
        return extension.backward(*arguments)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> None:
        @refuse@
'''


def registered_autograd(plan: Plan) -> str:
    """Write what makes the operator `OP_forward` differentiable, once only: for the stable ABI."""
    op = plan.op
    extras = extra_names(plan)
    lines = [*_taken_apart(plan), *_kept(plan)]
    lines += [f"ctx.mark_non_differentiable({', '.join(extras)})"] * bool(extras)
    results = results_annotation(len(op.signature.outputs) + len(extras))
    setup = ["ctx: Any", "inputs: tuple[Any, ...]", f"output: {results}"]
    grads = [f"{name}: {kind}" for name, kind in _gradients(plan)] + [f"_d_{name}: Tensor" for name in extras]
    backward = function_head("_backward", ["ctx: Any", *grads], _returns(plan))
    call = f"torch.ops.{plan.name}.{op.name}_backward.default"
    return fill(
        _REGISTERED,
        name=plan.name,
        op=op.name,
        setup="\n".join([function_head("_setup_context", setup, "None"), *_indented(lines or ["pass"])]),
        backward="\n".join([backward, *_indented(_backward_lines(plan, call, "*"))]),
        refuse=_refusal(plan, 4),
    )


def registered_autocast(plan: Plan) -> str:
    """Write what autocast does with the operator `OP_forward`: for the stable ABI."""
    return fill(_AUTOCAST, name=plan.name, op=plan.op.name)


def classic_autograd(plan: Plan) -> list[str]:
    """Write the `torch.autograd.Function` over a compiled module's `forward` and `backward`: for pybind11."""
    op = plan.op
    outputs = [output.name for output in op.signature.outputs]
    names = [*outputs, *extra_names(plan)]
    results = results_annotation(len(outputs))
    called = f"extension.forward({', '.join(a.name for a in op.signature.inputs)})"
    forward = function_head("forward", ["ctx: Any", *parameters(op.signature.inputs)], results, wide=4)
    gradients = [f"{name}: {kind}" for name, kind in _gradients(plan)]
    backward = function_head("backward", ["ctx: Any", *gradients], _returns(plan), wide=4)
    once = not plan.kernel.double_backward
    lines = [f"{', '.join(names)} = {called}", *_kept(plan), f"return {', '.join(outputs)}"]
    call = "_Backward.apply" if once else "extension.backward"
    classic = fill(
        _CLASSIC,
        module=plan.module,
        forward="\n".join([forward, *_indented(lines)]),
        backward="\n".join([backward, *_indented(_backward_lines(plan, call, "", wide=8))]),
    )
    several = "tuple[Tensor | None, ...]" if len(op.signature.tensors) > 1 else "Tensor | None"
    return [fill(_ONCE, gradients=several, refuse=_refusal(plan, 8)), classic] if once else [classic]


def _returns(plan: Plan) -> str:
    """Write the type of what a backward returns: something for each input."""
    return "tuple[Tensor | None, ...]" if len(plan.op.signature.inputs) > 1 else "Tensor | None"


def _refusal(plan: Plan, wide: int) -> str:
    """Write the error of a second derivative."""
    message = f"{plan.name}: {plan.op.name} has no second derivative: its backward is not differentiable"
    return "\n".join(_call(f'raise RuntimeError("{message}")', wide))


def _gradients(plan: Plan) -> list[tuple[str, str]]:
    """Name the gradients that come in, each with its type."""
    kind = "Tensor | None" if _takes_none(plan) else "Tensor"
    return [(f"d_{output.name}", kind) for output in plan.op.signature.outputs]


def _takes_none(plan: Plan) -> bool:
    """Tell whether backward takes None for a gradient of zeros; else autograd makes the zeros."""
    optional = plan.interface.optional_grads
    return bool(optional) and all(optional)


def _saved(plan: Plan) -> tuple[list[str], list[str]]:
    """Split what backward takes behind the gradients into tensors, which autograd keeps, and numbers."""
    kept = backward_parameters(plan)[len(plan.op.signature.outputs) :]
    return [a.name for a in kept if a.is_tensor], [a.name for a in kept if not a.is_tensor]


def _taken_apart(plan: Plan) -> list[str]:
    """Write what gives names to those inputs and results that backward takes."""
    kept = {name for names in _saved(plan) for name in names}
    extras = extra_names(plan)
    results = [*(output.name for output in plan.op.signature.outputs), *extras]
    lines = []
    for names, whole in (([a.name for a in plan.op.signature.inputs], "inputs"), (results, "output")):
        if kept & {*names}:
            chosen = [name if name in kept else "_" for name in names]
            single = "(%s,)" if whole == "inputs" else "%s"
            lines.append(f"{', '.join(chosen) if len(chosen) > 1 else single % chosen[0]} = {whole}")
    return lines


def _kept(plan: Plan) -> list[str]:
    """Write what keeps for backward the tensors and numbers that it takes."""
    tensors, numbers = _saved(plan)
    lines = [f"ctx.save_for_backward({', '.join(tensors)})"] * bool(tensors)
    lines += [f"ctx.{name} = {name}" for name in numbers]
    return lines + ["ctx.set_materialize_grads(False)"] * _takes_none(plan)


def _backward_lines(plan: Plan, call: str, star: str, wide: int = 4) -> list[str]:
    """Write the body of a backward: a call with what was kept, and None as the gradient of a number.

    Args:
        plan: of the export.
        call: what computes the gradients.
        star: `"*"` where it takes each flag as an argument of its own.
        wide: the indentation.
    """
    signature = plan.op.signature
    grads = [name for name, _ in _gradients(plan)]
    tensors, numbers = _saved(plan)
    every = len(signature.tensors) == len(signature.inputs)
    lines = []
    if _takes_none(plan):
        nothing = ", ".join(["None"] * len(signature.inputs))
        lines += [f"if {' and '.join(f'{name} is None' for name in grads)}:", f"    return {nothing}"]
    kept = ["*ctx.saved_tensors"] * bool(tensors)
    if tensors and numbers:
        lines.append(
            f"{', '.join(tensors)} = ctx.saved_tensors" if len(tensors) > 1 else f"({tensors[0]},) = ctx.saved_tensors"
        )
    if numbers:
        ordered = [a.name for a in backward_parameters(plan)[len(grads) :]]
        kept = [f"ctx.{name}" if name in numbers else name for name in ordered]
    flags, more = _flags(plan, star)
    lines += more
    called = f"{call}({', '.join([*grads, *kept, star + flags])})"
    if every:
        return [*lines, *_call(f"return {called}", wide)]
    names = [f"d_{tensor.name}" for tensor in signature.tensors]
    slots = [f"d_{argument.name}" if argument.is_tensor else "None" for argument in signature.inputs]
    return [*lines, *_call(f"{', '.join(names)} = {called}", wide), f"return {', '.join(slots)}"]


def _flags(plan: Plan, star: str) -> tuple[str, list[str]]:
    """Write the flags of wanted gradients, one for each tensor, and the lines that they need."""
    inputs = plan.op.signature.inputs
    places = [index for index, argument in enumerate(inputs) if argument.is_tensor]
    needed, lines = "ctx.needs_input_grad", []
    if star and any(inputs[index].default is not None for index in places):
        missing = ", ".join(["False"] * sum(argument.default is not None for argument in inputs))
        needed = "needed"
        lines += [
            "# The dispatcher hands on no arguments that have their default values.",
            f"needed = (*ctx.needs_input_grad, {missing})",
        ]
    if places == [*range(len(places))]:
        return (f"{needed}[:{len(places)}]" if lines or len(places) < len(inputs) else needed), lines
    lines.append(sequence([f"{needed}[{index}]" for index in places], ahead="wanted = "))
    return "wanted", lines


def _call(line: str, wide: int) -> list[str]:
    """Break a call behind its bracket where it would be too long."""
    if len(line) + wide <= 120:
        return [line]
    head, _, rest = line.partition("(")
    return [f"{head}(", f"    {rest[:-1]}", ")"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
