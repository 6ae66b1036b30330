"""Inputs of what is measured: fresh ones for every timed call, made outside of the timed region, and those of a stack of layers.

A `Ring` holds several sets of inputs. `refill` gives each set new values: those of a pool of pristine sets, each
tensor scaled by a number near 1 that never comes twice. So a kernel that keeps an earlier result, under whatever
key, is seen to be wrong, and no call finds its own data in the cache from the call before. Scaling keeps signs and
order of magnitude, and costs one pass over memory where drawing new values would cost far more than the kernels.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..base.arguments import require
from ..base.device import DEVICES
from ..errors import InputError
from ..model.op import of_dtype
from ..model.registry import Op
from ..run.cases.drawing import seeded
from ..run.cases.expectation import leaves_of
from ..run.compare import dtype_name
from ..run.function import as_tuple, differentiable, each
from ..workers import steps

#: Sets in a ring, at most, and the bytes that they may take together (two sets are kept however large they are).
MOST_SETS = 256
MOST_BYTES = 256 * 2**20

_POOL = 2
SEED = 2019
#: More layers are a slip of the keyboard: each has inputs and parameters of its own.
MOST_LAYERS = 10_000


@dataclass(frozen=True)
class InputSet:
    """One set of arguments, the tensors among them that want a gradient, and gradients of the outputs."""

    inputs: tuple[Any, ...]
    wanted: tuple[torch.Tensor, ...]
    grads: tuple[torch.Tensor, ...]


def _made(op: Op, size: Sequence[int], dtype: torch.dtype, place: str, generator: torch.Generator) -> tuple[Any, ...]:
    """Make inputs on a device; an op may draw indices by itself, on the CPU."""

    def randn(*shape: int) -> torch.Tensor:
        drawn = dtype if dtype.is_floating_point else None
        return of_dtype(torch.randn(*shape, dtype=drawn, device=place, generator=generator), dtype_name(dtype))

    made = op.make_inputs(randn, size)
    return tuple(each(item, lambda one: one.to(place)) for item in made)


class Ring:
    """Sets of inputs of one op at one size, refilled between timed calls.

    Args:
        op: makes the inputs; `op.parameters` (default: all floating-point tensors) want gradients.
        size: numbers in the order of the op's letters.
        dtype: of the floating-point tensors.
    """

    def __init__(self, op: Op, size: Sequence[int], *, dtype: torch.dtype, device: str, seed: int = SEED) -> None:
        self._op = op
        place = DEVICES[device].tensors
        self._generator = torch.Generator(place).manual_seed(seed)
        self._scale = random.Random(seed)

        self._pool = [_made(op, size, dtype, place, self._generator) for _ in range(_POOL)]
        with torch.no_grad(), seeded(device) as draws:
            results = () if op.lacks else op.run_reference(*leaves_of(op, self._pool[0]))
            #: Whether the op draws random numbers: only calls that begin at the same one can be compared.
            self.random = draws()
        # Outputs that are no floating-point numbers (a count, an index) have no gradient.
        self.differentiable = [index for index, result in enumerate(results) if differentiable(result)]
        self.names = wanted(op, self._pool[0]) if self.differentiable else ()
        self._where = [index for index, argument in enumerate(op.signature.inputs) if argument.name in self.names]
        self._grads = [[torch.randn_like(results[index]) for index in self.differentiable] for _ in range(_POOL)]
        tensors = [item for item in self._pool[0] if isinstance(item, torch.Tensor)] + self._grads[0]
        each = max(1, sum(tensor.numel() * tensor.element_size() for tensor in tensors))
        self.capacity = max(2, min(MOST_SETS, MOST_BYTES // each))
        self._sets: list[InputSet] = []

    def refill(self, count: int) -> list[InputSet]:
        """Give the first `count` sets new values and return them; earlier contents are gone.

        Args:
            count: at most `capacity`.
        """
        with torch.no_grad():
            while len(self._sets) < count:
                inputs = tuple(each(item, torch.clone) for item in self._pool[0])
                wanted = tuple(inputs[index].requires_grad_() for index in self._where)
                self._sets.append(InputSet(inputs, wanted, tuple(map(torch.clone, self._grads[0]))))
            for number, one in enumerate(self._sets[:count]):
                source = (number + self._scale.randrange(_POOL)) % _POOL
                for target, origin in zip(one.inputs, self._pool[source], strict=True):
                    self._renew(target, origin)
                for target, origin in zip(one.grads, self._grads[source], strict=True):
                    self._renew(target, origin)
        return self._sets[:count]

    def describe(self) -> list[str]:
        """Describe the inputs: `weights (384, 160) float32`."""
        return steps.describe(self._op, self._pool[0])

    def _renew(self, target: Any, origin: Any) -> None:
        if differentiable(target):
            torch.mul(origin, self._scale.uniform(0.8, 1.25), out=target)
        elif isinstance(target, torch.Tensor):
            target.copy_(origin)
        elif isinstance(target, list):
            for one, other in zip(target, origin, strict=True):
                self._renew(one, other)


def wanted(op: Op, inputs: Sequence[Any]) -> tuple[str, ...]:
    """Name the inputs that want a gradient: `op.parameters`, or all that can have one."""
    pairs = zip(op.signature.inputs, inputs, strict=True)
    real = [argument.name for argument, item in pairs if argument in op.gradients and differentiable(item)]
    return tuple(name for name in real if not op.parameters or name in op.parameters)


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
    want = f"the number of layers: an integer of at least 1, and at most {MOST_LAYERS}"
    require(type(depth) is int and 1 <= depth <= MOST_LAYERS, "depth", depth, want)
    op.named(size)
    sizes = [tuple(size)]
    while len(sizes) < depth:
        sizes.append(_next_size(op, sizes[-1], len(sizes) + 1))
    return sizes


def _next_size(op: Op, size: Sequence[int], layer: int) -> tuple[int, ...]:
    before, first, stacked = op.named(size), op.signature.inputs[0], f"op {op.name!r} cannot be stacked"
    output = next((output.name for output in op.signature.outputs[:1] if output.is_tensor), "")
    if not output or op.shape_of[output].untold or op.shape_of[output].numbers:
        raise InputError(f"{stacked}: no tensor whose shape follows from the size is its first output")
    if first.type != "Tensor":
        raise InputError(f"{stacked}: its first input {first.name} is a {first.type}, want a Tensor")
    want, got = op.shape_of[first.name], op.shape_of[output]
    shape = got(before)
    after = dict(before)
    fits = len(want.dims) == len(shape) and want.any_rank == got.any_rank
    if fits:
        after.update((dim.letter, extent) for dim, extent in zip(want.dims, shape, strict=True) if dim.letter)
        fits = want(after) == shape  # a letter may stand twice, or in a sum
    if not fits:
        raise InputError(f"{stacked}: layer {layer} would get {output} {got} = {shape} as its {first.name} {want}")
    following = tuple(after[letter] for letter in op.letters)
    if not op.allows(following):
        where = f"op {op.name!r}: at layer {layer} ({', '.join(f'{name}={extent}' for name, extent in after.items())})"
        raise InputError(f"{where} a tensor would have a negative extent; take fewer layers")
    return following


class Stack:
    """Inputs, parameters and incoming gradients of a stack of layers, made once and kept.

    The first output of each layer is the first input of the next.

    Each layer has inputs of its own, but for the first one. Of the layers but the last one every output that is not fed
    on is an output of the stack too (the cell of an LLTM), and gets a gradient.

    Args:
        op: makes the inputs; `op.parameters` (default: all tensors) want gradients.
        size: of the first of `depth` layers.
        dtype: of the floating-point tensors.

    Raises:
        InputError: see `layer_sizes`; or the first output has another dtype than the first input.
    """

    def __init__(self, op: Op, size: Sequence[int], depth: int, *, dtype: torch.dtype, device: str) -> None:
        place = DEVICES[device].tensors
        generator = torch.Generator(place).manual_seed(SEED)

        self.layers: list[tuple[Any, ...]] = []
        self.wanted: list[torch.Tensor] = []
        for number, layer in enumerate(layer_sizes(op, size, depth)):
            inputs = _made(op, layer, dtype, place, generator)
            names = wanted(op, inputs)
            pairs = list(zip(op.signature.inputs, inputs, strict=True))
            self.wanted += [item.requires_grad_() for argument, item in pairs[bool(number) :] if argument.name in names]
            self.layers.append(tuple(inputs) if number == 0 else (None, *inputs[1:]))
        with torch.no_grad():
            first = self.layers[0][0]
            if depth > 1 and (fed := op.run_reference(*self.layers[0])[0]).dtype != first.dtype:
                output, argument = op.signature.outputs[0].name, op.signature.inputs[0].name
                raise InputError(
                    f"op {op.name!r} cannot be stacked: {output} is {dtype_name(fed.dtype)}, {argument} is {dtype_name(first.dtype)}"
                )
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
