"""Several layers of one kernel, one upon the other: the first output of each is the first input of the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..base.arguments import shown
from ..base.device import DEVICES
from ..errors import InputError
from ..model.registry import Op
from ..run.function import as_tuple, differentiable
from .inputs import wanted

#: More layers are a slip of the keyboard: each has inputs and parameters of its own.
MOST_LAYERS = 10_000


def layer_sizes(op: Op, size: Sequence[int], depth: int) -> list[tuple[int, ...]]:
    """Give each layer of a stack its size.

    The first input of a layer has the shape of the first output of the layer before. The letters that stand alone in
    its shape follow from that; the other letters stay.

    Args:
        op: with letters and shapes.
        size: of the first layer, in the order of the op's letters.
        depth: number of layers.

    Returns:
        One size a layer.

    Raises:
        InputError: the depth is no positive integer, or the output does not fit as the next input.

    Example:
        >>> from lltm_inline.model.registry import registry
        >>> layer_sizes(registry.ops["lltm"], (16, 32, 128), 3)
        [(16, 32, 128), (16, 128, 128), (16, 128, 128)]
    """
    if not isinstance(depth, int) or isinstance(depth, bool) or not 1 <= depth <= MOST_LAYERS:
        raise InputError(
            f"depth={shown(depth)}, want the number of layers: an integer of at least 1, and at most {MOST_LAYERS}"
        )
    op.named(size)
    sizes = [tuple(size)]
    while len(sizes) < depth:
        sizes.append(_next_size(op, sizes[-1], len(sizes) + 1))
    return sizes


def _next_size(op: Op, size: Sequence[int], layer: int) -> tuple[int, ...]:
    before, first, output = op.named(size), op.signature.inputs[0], op.signature.outputs[0].name
    if first.type != "Tensor":
        raise InputError(
            f"op {op.name!r} cannot be stacked: its first input {first.name} is a {first.type}, want a Tensor"
        )
    want, got = op.shape_of[first.name], op.shape_of[output]
    shape = got(before)
    after = dict(before)
    fits = len(want.dims) == len(shape) and want.any_rank == got.any_rank
    if fits:
        after.update((dim.letter, extent) for dim, extent in zip(want.dims, shape, strict=True) if dim.letter)
        fits = want(after) == shape  # a letter may stand twice, or in a sum
    if not fits:
        raise InputError(
            f"op {op.name!r} cannot be stacked: layer {layer} would get {output} {got} = {shape} as its {first.name} {want}"
        )
    following = tuple(after[letter] for letter in op.letters)
    if not op.allows(following):
        where = ", ".join(f"{letter}={number}" for letter, number in after.items())
        raise InputError(
            f"op {op.name!r}: at layer {layer} ({where}) a tensor would have a negative extent; take fewer layers"
        )
    return following


class Stack:
    """Inputs, parameters and incoming gradients of a stack of layers, made once and kept.

    Each layer has inputs of its own, but for the first one. Of the layers but the last one every output that is not fed
    on is an output of the stack too (the cell of an LLTM), and gets a gradient.

    Args:
        op: makes the inputs; `op.parameters` (default: all tensors) want gradients.
        size: of the first layer.
        depth: number of layers.
        dtype: of the floating-point tensors.
        device: where the tensors live.
        seed: of the values.

    Raises:
        InputError: see `layer_sizes`; or the first output has another dtype than the first input.
    """

    def __init__(
        self, op: Op, size: Sequence[int], depth: int, *, dtype: torch.dtype, device: str, seed: int = 0
    ) -> None:
        place = DEVICES[device].tensors
        generator = torch.Generator(place).manual_seed(seed)

        def randn(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, dtype=dtype, device=place, generator=generator)

        self.layers: list[tuple[Any, ...]] = []
        self.wanted: list[torch.Tensor] = []
        for number, layer in enumerate(layer_sizes(op, size, depth)):
            inputs = op.make_inputs(randn, layer)
            names = wanted(op, inputs)
            pairs = list(zip(op.signature.inputs, inputs, strict=True))
            self.wanted += [item.requires_grad_() for argument, item in pairs[bool(number) :] if argument.name in names]
            self.layers.append(tuple(inputs) if number == 0 else (None, *inputs[1:]))
        if depth > 1:
            _same_dtype(op, self.layers[0])
        with torch.no_grad():
            outputs = self.outputs(op.run_reference)
            self.differentiable = [index for index, output in enumerate(outputs) if differentiable(output)]
            self.gradients = [torch.randn_like(outputs[index]) for index in self.differentiable]

    def outputs(self, function: Callable[..., Any]) -> list[torch.Tensor]:
        """Run all layers and return the outputs of the stack, those of the last layer first."""
        fed = self.layers[0][0]
        others: list[torch.Tensor] = []
        for inputs in self.layers:
            fed, *more = as_tuple(function(fed, *inputs[1:]))
            others = [*more, *others]
        return [fed, *others]

    def backward(self, outputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of all that wants one."""
        if not self.wanted:
            return ()
        chosen = [outputs[index] for index in self.differentiable]
        return torch.autograd.grad(chosen, self.wanted, self.gradients, allow_unused=True)


def _same_dtype(op: Op, inputs: Sequence[Any]) -> None:
    with torch.no_grad():
        output = op.run_reference(*inputs)[0]
    if output.dtype != inputs[0].dtype:
        found, want = (str(item.dtype).removeprefix("torch.") for item in (output, inputs[0]))
        raise InputError(
            f"op {op.name!r} cannot be stacked: {op.signature.outputs[0].name} is {found}, {op.signature.inputs[0].name} is {want}"
        )
