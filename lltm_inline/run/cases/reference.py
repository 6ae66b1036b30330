"""Calls an op's reference; what such a call, or that of a kernel, gives is brought into one form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from ...model.registry import Argument, Op
from ..function import as_tuple, differentiable, each, gradients_of
from .drawing import seeded

_WIDE = {
    **dict.fromkeys((torch.float32, torch.float16, torch.bfloat16), torch.float64),
    torch.complex64: torch.complex128,
}


def quantities(op: Op) -> list[str]:
    """Names of all results and gradients: `new_h`, `new_cell`, `d_input`, ..."""
    return [*(result.name for result in op.signature.results), *(f"d_{tensor.name}" for tensor in op.gradients)]


def tensor_inputs(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Pick the tensors that have a gradient (or None for an optional one left out) from a set of inputs."""
    return [value for argument, value in zip(op.signature.inputs, inputs, strict=True) if argument in op.gradients]


def leaves_of(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Copy what the op changes, and have those that have a gradient ask for it."""

    def leaf(argument: Argument, value: Any) -> Any:
        if argument.alias:
            return each(value, torch.clone)
        return value.detach().requires_grad_() if argument in op.gradients and differentiable(value) else value

    return [leaf(argument, value) for argument, value in zip(op.signature.inputs, inputs, strict=True)]


def results_of(op: Op, returned: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return all results of a call: what it returned, numbers as tensors, then the inputs that it changed, a list as one tensor."""
    pairs = zip(op.signature.inputs, inputs, strict=True)
    changed = [_as_one(value) if argument.is_list else value for argument, value in pairs if argument.alias]
    outputs = as_tuple(returned) if op.signature.outputs else ()
    plain = {output.name for output in op.signature.outputs if not output.is_tensor}
    if plain:
        named = zip_longest((output.name for output in op.signature.outputs), outputs)
        outputs = tuple(_as_tensor(value) if name in plain else value for name, value in named)
    return (*outputs, *changed)


def _as_one(tensors: Sequence[Tensor]) -> Tensor:
    """Make one tensor of a list: where its members have one shape, the first index says which of them it is."""
    if len({one.shape for one in tensors}) == 1:
        return torch.stack([*tensors])
    return torch.cat([one.flatten() for one in tensors]) if tensors else torch.empty(0)


def _as_tensor(number: Any) -> Any:
    """Make a tensor of a number, to be compared; anything else stays as it is."""
    dtype = {int: torch.int64, float: torch.float64, bool: torch.bool}.get(type(number))
    return number if dtype is None else torch.tensor(number, dtype=dtype)


def run_reference(
    op: Op, inputs: Sequence[Any], grads: Sequence[Tensor], used: Sequence[bool]
) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Run the reference forward and backward; a gradient is None for an input that cannot have one."""
    leaves = leaves_of(op, inputs)
    with seeded():
        outputs = results_of(op, op.reference(*leaves), leaves)
    wanted = [leaf for leaf in tensor_inputs(op, leaves) if differentiable(leaf)]
    found = gradients_of(outputs, [grad if use else None for grad, use in zip(grads, used, strict=True)], wanted)
    filled = iter([torch.zeros_like(w) if g is None else g for w, g in zip(wanted, found, strict=True)])
    gradients = tuple(next(filled) if differentiable(leaf) else None for leaf in tensor_inputs(op, leaves))
    return tuple(output.detach() for output in outputs), gradients


def widen(value: Any) -> Any:
    """Return a floating or complex tensor in double precision, anything else as it is."""
    return each(value, lambda one: one.to(_WIDE.get(one.dtype, one.dtype)))
