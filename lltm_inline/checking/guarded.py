"""One call of forward and backward between guard pages: what it returned, and what it wrote beside its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..run.cases import Case, Expected, place, tensor_inputs
from ..run.compare import shape_text
from ..run.function import as_tuple, differentiable
from .guard import Damage, Guard
from .runner import Runner, threads

#: Called ahead of each call of the kernel with step, case and descriptions of the inputs.
Note = Callable[[str, str, tuple[str, ...]], None]


def silent(step: str, case: str, inputs: tuple[str, ...]) -> None:
    """Note nothing."""


@dataclass(eq=False)
class Trial:
    """One call of forward and backward between guard pages.

    Attributes:
        runner, case, expected: what is called, and what it should give.
        results: outputs and gradients by name, with what the reference gives.
        damages: what was written beside tensors, each with the step in which it was.
    """

    runner: Runner
    case: Case
    expected: Expected
    results: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    damages: list[tuple[str, Damage]] = field(default_factory=list)

    def run(self, guard: Guard, note: Note) -> bool:
        """Call the kernel, and tell whether forward came back; a context of the guard is entered.

        What the kernel raises is the business of `parity`.
        """
        leaves = self._leaves(guard)
        text = self.case.describe(self.runner.op)
        named = zip((argument.name for argument in self.runner.op.signature.inputs), leaves, strict=True)
        described = tuple(f"{name} {shape_text(leaf)}" for name, leaf in named if isinstance(leaf, Tensor))
        note("forward", text, described)
        outputs = self._forward(guard, leaves)
        grads = [
            _place(guard, f"d_{name}", grad, self.case.grads)
            for name, grad in zip(self.runner.outputs, self.expected.grads, strict=True)
        ]
        if any(isinstance(output, Tensor) and output.requires_grad for output in outputs):
            note("backward", text, described)
            self._backward(guard, leaves, outputs, grads)
        return bool(outputs)

    def _leaves(self, guard: Guard) -> list[Any]:
        """Put the inputs into guarded memory, in the layout of the case."""
        case, runner = self.case, self.runner
        leaves: list[Any] = []
        wanted = iter(case.wanted or (True,) * len(runner.gradients))
        for argument, value in zip(runner.op.signature.inputs, self.expected.inputs, strict=True):
            want = next(wanted) if argument.is_tensor else False
            if isinstance(value, Tensor):
                layout = case.layout if case.only in ("", argument.name) else "contiguous"
                leaf = _place(guard, argument.name, value, layout)
                leaves.append(leaf.requires_grad_() if want and differentiable(value) else leaf)
            else:
                leaves.append(value)
        return leaves

    def _forward(self, guard: Guard, leaves: Sequence[Any]) -> tuple[Any, ...]:
        names, want = self.runner.outputs, self.expected.outputs
        self._announce(guard, "forward", names, want)
        outputs: tuple[Any, ...] = ()
        try:
            with threads(self.runner.threads_for(self.case)):
                outputs = as_tuple(self.runner.function(*leaves))
        except Exception as error:
            self.runner.note_error(self.case, error)
            outputs = ()  # `parity` says what it raises; what it wrote until then is told here
        self._keep(guard, "forward", names, outputs, want)
        return outputs

    def _backward(self, guard: Guard, leaves: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Tensor]) -> None:
        expected, tensors = self.expected, tensor_inputs(self.runner.op, leaves)
        chosen = [
            (output, grad)
            for output, grad, use in zip(outputs, grads, expected.used, strict=False)
            if use and isinstance(output, Tensor) and output.requires_grad and output.shape == grad.shape
        ]
        wanted = [i for i, leaf in enumerate(tensors) if isinstance(leaf, Tensor) and leaf.requires_grad]
        names = [self.runner.gradients[i] for i in wanted]
        want = [expected.gradients[i] for i in wanted]
        self._announce(guard, "backward", names, want)
        found: Sequence[Any] = ()
        try:
            if chosen and wanted:
                heads, incoming = zip(*chosen, strict=True)
                with threads(self.runner.threads_for(self.case)):
                    found = torch.autograd.grad(heads, [tensors[i] for i in wanted], incoming, allow_unused=True)
        except Exception as error:
            self.runner.note_error(self.case, error)
            found = ()
        self._keep(guard, "backward", names, found, want)

    def _announce(self, guard: Guard, step: str, names: Sequence[str], want: Sequence[Tensor | None]) -> None:
        """Tell the guard what the step is going to make, for tensors that are written beside before they have a name."""
        complex_too = 2 if any(tensor is not None and tensor.is_complex() for tensor in want) else 1
        itemsize = complex_too * self.case.dtype.itemsize
        guard.expect(step, {name: tensor.numel() * itemsize for name, tensor in _present(names, want)})

    def _keep(
        self, guard: Guard, step: str, names: Sequence[str], got: Sequence[Any], want: Sequence[Tensor | None]
    ) -> None:
        for (name, value), tensor in zip(_present(names, want), got, strict=False):
            if isinstance(tensor, Tensor):
                guard.name(name, tensor)
                self.results[name] = (tensor.detach(), value)
        self.damages += [(step, damage) for damage in guard.damages()]


def _present(names: Sequence[str], tensors: Sequence[Tensor | None]) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in zip(names, tensors, strict=True):
        if tensor is not None:
            yield name, tensor


def _place(guard: Guard, name: str, value: Tensor, layout: str) -> Tensor:
    """Copy a tensor into guarded memory in a layout; a misaligned one needs an element of room for that."""
    laid = value if layout == "contiguous" else place(value, layout, "cpu").tensor
    return guard.place(name, laid, stretch=int(layout == "misaligned"))
