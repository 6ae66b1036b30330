"""Writes the `forward` and `backward` of a kernel that call an extension's own functions."""

from __future__ import annotations

from collections.abc import Sequence

from ..registry import Op
from ..signature import cpp_type
from .matching import Called, Match

_COLUMNS = 120


def adapter_text(op: Op, match: Match, dense: bool) -> str:
    """Write the end of a kernel's text.

    Args:
        op: that is computed.
        match: how the extension's functions do it.
        dense: they want contiguous inputs.
    """
    names = match.forward.called if match.backward is None else f"{match.forward.called} and {match.backward.called}"
    head = f"// What the playground calls: {names}, with arguments and results in the order of op '{op.name}'.\n"
    return head + _forward(op, match, dense) + (_backward(op, match, match.backward, dense) if match.backward else "")


def _forward(op: Op, match: Match, dense: bool) -> str:
    inputs = {argument.name: argument for argument in op.signature.inputs}
    indices = [*match.outputs, *match.extras.values()]
    handed = [_dense(name, dense and inputs[name].type == "Tensor") for name in match.taken]
    parameters = [f"{cpp_type(argument, 'aten')} {argument.name}" for argument in inputs.values()]
    lines = [_wrapped(f"{_results(len(indices))} forward(", parameters, ") {")]
    if match.forward.is_single:
        lines.append(_call("return ", match.forward, handed))
    else:
        lines.append(_call("const auto returned = ", match.forward, handed))
        lines.append(
            _wrapped("  return {", [match.forward.value(index) for index in indices], "};", bare=len(indices) == 1)
        )
    return "\n".join([*lines, "}", ""])


def _backward(op: Op, match: Match, backward: Called, dense: bool) -> str:
    types = {argument.name: cpp_type(argument, "aten") for argument in (*op.signature.inputs, *op.signature.outputs)}
    tensor = "const at::Tensor&"
    gradients = [f"d_{output.name}" for output in op.signature.outputs]
    count = len(op.signature.tensors)
    parameters = [
        *(f"{tensor} {name}" for name in gradients),
        *(f"{types[name]} {name}" for name in match.saves),
        *(f"{tensor} {name}" for name in match.extras),
        f"std::array<bool, {count}> wanted",
    ]
    # Incoming gradients may be expanded, those of sum() are.
    handed = [
        _dense(name, name in gradients or (dense and types.get(name) == tensor))
        if backward.takes_tensor(position)
        else name
        for position, name in enumerate(match.handed)
    ]
    lines = ["", _wrapped(f"{_results(count)} backward(", parameters, ") {")]
    lines.append(_call("const auto returned = ", backward, handed))
    values = [backward.value(index) + ".flatten()" * (name in match.rows) for name, index in match.gradients.items()]
    if count == 1:
        lines.append(f"  return wanted[0] ? {values[0]} : at::Tensor();")
    else:
        results = [f"d_{argument.name}" for argument in op.signature.tensors]
        lines.append(_wrapped("  at::Tensor ", results, ";"))
        for position, (result, value) in enumerate(zip(results, values, strict=True)):
            lines.append(f"  if (wanted[{position}]) {result} = {value};")
        lines.append(_wrapped("  return {", results, "};"))
    return "\n".join([*lines, "}", ""])


def _results(count: int) -> str:
    return "at::Tensor" if count == 1 else f"std::tuple<{', '.join(['at::Tensor'] * count)}>"


def _dense(name: str, needed: bool) -> str:
    return f"{name}.contiguous()" if needed else name


def _call(head: str, function: Called, arguments: Sequence[str]) -> str:
    # A name in brackets is looked up where it stands only: of a tensor's own namespace `at::square` would come along.
    called = function.called if function.space else f"({function.called})"
    return _wrapped(f"  {head}{called}(", arguments, ");", indent=6)


def _wrapped(head: str, items: Sequence[str], tail: str, *, bare: bool = False, indent: int = 4) -> str:
    """Put a list on one line, or below its head where that would be too long; `bare` is for one value without brackets."""
    if bare:
        return f"{head.removesuffix('{')}{items[0]}{tail.removeprefix('}')}"
    line = head + ", ".join(items) + tail
    if len(line) <= _COLUMNS:
        return line
    lines = [" " * indent]
    for number, item in enumerate(items):
        piece = item + ("," if number + 1 < len(items) else tail)
        if len(lines[-1]) + len(piece) + 1 > _COLUMNS:
            lines.append(" " * indent)
        lines[-1] += piece if not lines[-1].strip() else f" {piece}"
    return "\n".join([head, *lines])
