"""The quick comparison with the reference that stands before, during and after every timing.

`check` is the thorough one. This one costs a few calls and looks at the very sizes that are timed, and at the very
results that the timed calls gave, so that nothing is timed that is wrong, at that size or by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from ..errors import CheckError
from ..model.registry import Op
from ..run.cases.drawing import seeded
from ..run.cases.expectation import leaves_of, results_of
from ..run.compare import Tolerance, compare, dtype_name
from ..run.function import as_tuple, copied
from ..workers import steps
from .inputs import InputSet, Ring

# The reference runs in the same dtype, so two right kernels differ by the order of their sums only. float32
# arithmetic inside a float64 kernel (1e-7) must not pass.
_TOLERANCE = {
    "float64": Tolerance(1e-9, 1e-10),
    "complex128": Tolerance(1e-9, 1e-10),
    "float32": Tolerance(1e-4, 1e-5),
    "complex64": Tolerance(1e-4, 1e-5),
    "bfloat16": Tolerance(5e-2, 5e-2),
    "float16": Tolerance(1e-2, 1e-2),
}


class Auditor:
    """Compares what a kernel gave with what the reference gives for the same inputs.

    Args:
        op: holds the reference and the names.
        ring: the inputs of one size.
        where: the size in words, for messages.
        gradients: compare gradients as well as outputs.
        done: what a wrong kernel is not, for messages.
    """

    def __init__(self, op: Op, ring: Ring, where: str, *, gradients: bool, done: str = "timed") -> None:
        self._op = op
        self._ring = ring
        self.where = where
        self._gradients = gradients and bool(ring.names)
        self._refusal = f"It was not {done}."
        self._outputs = [result.name for result in op.signature.results]

    def before(self, label: str, function: Callable[..., Any], *, times: int = 2) -> None:
        """Check a kernel before it is timed: two calls, then their two backwards, then the same with other values.

        Two calls before the first backward expose buffers that are shared between calls; other values at the
        same addresses expose results that are kept.

        Args:
            times: how many calls, and how often; with 1 it is seen to be right, and no more than that.

        Raises:
            CheckError: the kernel fails or is wrong.
        """
        for _ in range(times):
            sets = self._ring.refill(times)
            copies = [copied(one.inputs) for one in sets]
            try:
                with torch.set_grad_enabled(self._gradients), self._step("forward", label):
                    outputs = [self._call(function, one) for one in sets]
                with torch.set_grad_enabled(self._gradients), self._step("backward", label):
                    for result, one, before in zip(outputs, sets, copies, strict=True):
                        self.outputs(label, result, one, before if self._op.signature.changed else one.inputs)
                    gradients = [self._backward(label, result, one) for result, one in zip(outputs, sets, strict=True)]
            except CheckError:
                raise
            except Exception as error:
                text = f"'{label}' failed at {self.where}: {type(error).__name__}: {error}"
                raise CheckError(f"{text}\n{self._refusal}") from error
            for found, one in zip(gradients, sets, strict=True):
                self.gradients(label, found, one)
            for one, before in zip(sets, copies, strict=True):
                self._unchanged(label, one, before)

    def _call(self, function: Callable[..., Any], one: InputSet) -> Any:
        with seeded() if self._ring.random else nullcontext():
            return function(*one.inputs)

    def kept(self, one: InputSet) -> Sequence[Any]:
        """Copy the inputs of a call that will change them."""
        return copied(one.inputs) if self._op.signature.changed else one.inputs

    def _step(self, name: str, label: str) -> AbstractContextManager[None]:
        return steps.step(name, label, lambda: (self.where, self._ring.describe()))

    def outputs(self, label: str, results: Any, one: InputSet, before: Sequence[Any], *, when: str = "") -> None:
        """Compare the outputs of one call, where there is something to compare them with.

        Args:
            before: what the inputs were before the call, where it changes them.
            when: what to say of a wrong one.

        Raises:
            CheckError: one of them is wrong.
        """
        if self._op.lacks:
            return
        inputs = leaves_of(self._op, before)
        with torch.no_grad(), seeded():
            want = results_of(self._op, self._op.reference(*inputs), inputs)
        got = results_of(self._op, results, one.inputs)
        if len(got) != len(want):
            more = len(self._op.signature.changed)
            names = self._outputs[: len(self._outputs) - more]
            wants = f"want {len(names)}: {', '.join(names)}"
            raise CheckError(f"'{label}' returned {len(got) - more} outputs at {self.where}, {wants}")
        self._compare(label, self._outputs, got, want, when)

    def gradients(self, label: str, got: Sequence[Any], one: InputSet, *, when: str = "") -> None:
        """Compare the gradients that `torch.autograd.grad` gave for one call.

        Raises:
            CheckError: one of them is wrong.
        """
        if not self._gradients:
            return
        with torch.enable_grad(), seeded():
            results = as_tuple(self._op.reference(*one.inputs))
            found = [results[index] for index in self._ring.differentiable]
            want = torch.autograd.grad(found, one.wanted, one.grads, allow_unused=True)
        self._compare(label, [f"d_{name}" for name in self._ring.names], _filled(got, one), _filled(want, one), when)

    def _backward(self, label: str, results: Any, one: InputSet) -> tuple[Any, ...]:
        if not self._gradients:
            return ()
        found = [as_tuple(results)[index] for index in self._ring.differentiable]
        if not all(result.requires_grad for result in found):
            why = f"its outputs do not depend on {', '.join(self._ring.names)} for autograd"
            raise CheckError(f"'{label}' has no gradient: {why}. {self._refusal}")
        return torch.autograd.grad(found, one.wanted, one.grads, allow_unused=True)

    def _unchanged(self, label: str, one: InputSet, before: Sequence[Any]) -> None:
        for argument, item, old in zip(self._op.signature.inputs, one.inputs, before, strict=True):
            tensors = item if argument.is_list else [item] * isinstance(item, torch.Tensor)
            olds = old if argument.is_list else [old]
            same = all(torch.equal(one.detach(), other) for one, other in zip(tensors, olds, strict=False))
            if not same and not argument.alias:
                raise CheckError(f"'{label}' changes its input {argument.name} at {self.where}. {self._refusal}")

    def _compare(self, label: str, names: Sequence[str], got: Sequence[Any], want: Sequence[Any], when: str) -> None:
        for name, one, right in zip(names, got, want, strict=True):
            dtype = dtype_name(right.dtype)
            tolerance = _TOLERANCE.get(dtype, Tolerance(0.0, 0.0))
            if dtype in self._op.tolerances:
                tolerance = Tolerance(*self._op.tolerances[dtype])
            wide, parts = right.detach().cpu(), self._op.parts.get(name.removeprefix("d_"), ())
            if right.is_floating_point() or right.is_complex():  # it is compared in double precision
                wide = wide.to(torch.promote_types(right.dtype, torch.float64))
            found = compare(name, one, wide, right.dtype, tolerance, parts)
            if found is not None:
                raise CheckError(f"'{label}' {found.text} at {self.where}. {when or self._refusal}")


def _filled(gradients: Sequence[Any], one: InputSet) -> list[Any]:
    """Put zeros where autograd gave nothing: both mean that the input has no influence."""
    return [torch.zeros_like(item) if grad is None else grad for grad, item in zip(gradients, one.wanted, strict=True)]
