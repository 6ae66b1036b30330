"""Fresh inputs for every timed call, made outside of the timed region.

A `Ring` holds several sets of inputs. `refill` gives each set new values: those of a pool of pristine sets, each
tensor scaled by a number near 1 that never comes twice. So a kernel that keeps an earlier result, under whatever
key, is seen to be wrong, and no call finds its own data in the cache from the call before. Scaling keeps signs and
order of magnitude, and costs one pass over memory where drawing new values would cost far more than the kernels.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..base.device import DEVICES
from ..model.registry import Op
from ..run.function import differentiable
from ..workers import steps

#: Sets in a ring, at most, and the bytes that they may take together (two sets are kept however large they are).
MOST_SETS = 256
MOST_BYTES = 256 * 2**20

_POOL = 2


@dataclass(frozen=True)
class InputSet:
    """One set of arguments, the tensors among them that want a gradient, and gradients of the outputs."""

    inputs: tuple[Any, ...]
    wanted: tuple[torch.Tensor, ...]
    grads: tuple[torch.Tensor, ...]


class Ring:
    """Sets of inputs of one op at one size, refilled between timed calls.

    Args:
        op: makes the inputs; `op.parameters` (default: all floating-point tensors) want gradients.
        size: numbers in the order of the op's letters.
        dtype: of the floating-point tensors.
        device: where the tensors live.
        seed: of the values.
    """

    def __init__(self, op: Op, size: Sequence[int], *, dtype: torch.dtype, device: str, seed: int = 0) -> None:
        self._op = op
        place = DEVICES[device].tensors
        self._generator = torch.Generator(place).manual_seed(seed)
        self._scale = random.Random(seed)

        def randn(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, dtype=dtype, device=place, generator=self._generator)

        self._pool = [op.make_inputs(randn, size) for _ in range(_POOL)]
        with torch.no_grad():
            results = op.run_reference(*self._pool[0])
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
                self._sets.append(self._new_set())
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

    def _new_set(self) -> InputSet:
        inputs = tuple(item.clone() if isinstance(item, torch.Tensor) else item for item in self._pool[0])
        wanted = tuple(inputs[index].requires_grad_() for index in self._where)
        return InputSet(inputs, wanted, tuple(grad.clone() for grad in self._grads[0]))

    def _renew(self, target: Any, origin: Any) -> None:
        if differentiable(target):
            torch.mul(origin, self._scale.uniform(0.8, 1.25), out=target)
        elif isinstance(target, torch.Tensor):
            target.copy_(origin)


def wanted(op: Op, inputs: Sequence[Any]) -> tuple[str, ...]:
    """Name the inputs that want a gradient: `op.parameters`, or all that can have one."""
    pairs = zip(op.signature.inputs, inputs, strict=True)
    real = [argument.name for argument, item in pairs if differentiable(item)]
    return tuple(name for name in real if not op.parameters or name in op.parameters)
