"""Runs a kernel on one case at a time and compares everything it gives with the reference."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..build.compiler import Build
from ..model.registry import Op
from ..run.built import Built
from ..run.cases import (
    THREADS,
    Case,
    Expected,
    Placed,
    elements,
    expect,
    place,
    quantities,
    tensor_inputs,
    tolerance,
)
from ..run.compare import Mismatch, Tolerance, compare
from ..run.function import Function, as_tuple, differentiable
from ..run.library import load_built
from ..workers import steps
from ..workers.server import set_deterministic
from .report import Finding

#: Enough to show a race or a wrong cut of the work.
_MOST_THREADS = 3
_RERUNS = 4
#: Mismatches of these cells are about what a kernel returns, not about values: they belong to the section `interface`.
RAISES = "raises"
#: What is said of a section that had nothing to look at.
NEVER_BACK = "forward never came back (see parity)"
STRUCTURAL = ("count", "no tensor", "shape", "dtype")


#: For each output and gradient and each column of cases what was found.
Matrix = dict[str, dict[str, str]]


class Part(NamedTuple):
    """What one section of a check found: number of cases, findings, what could not be tried, and what is merely slow."""

    cases: int
    findings: list[Finding]
    skipped: list[str]
    notes: tuple[str, ...] = ()


@dataclass(eq=False)
class Outcome:
    """What one case gave.

    Attributes:
        wrong: mismatches by quantity; `forward` and `backward` stand for calls that raised.
        seen: the quantities that were compared.
        impure: inputs that changed and outputs that alias, as (quantity, sentence).
        skipped: why the case could not be tried: the reference refuses it, or the memory is not enough for less.
        refused: it was the reference.
    """

    wrong: dict[str, Mismatch] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    impure: list[tuple[str, str]] = field(default_factory=list)
    skipped: str = ""
    refused: bool = False

    @property
    def came_back(self) -> bool:
        """Whether forward has returned anything that can be looked at."""
        return not self.skipped and ("forward" not in self.wrong or self.wrong["forward"].cell != RAISES)


@dataclass(eq=False)
class Call:
    """One call of a kernel: what went in and what came out."""

    expected: Expected
    placed: list[Any]
    leaves: list[Any]
    outputs: tuple[Any, ...] = ()
    grads: list[Placed] = field(default_factory=list)


@contextmanager
def laboratory() -> Iterator[None]:
    """Set torch up for a check, and back afterwards.

    `at::empty` returns NaN, so that what a kernel never writes is not right by the luck of reused memory. One thread,
    but where a case asks for more: waking several for a few elements costs far more than the work, on a busy machine
    above all.
    """
    enabled, warn_only = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    with warnings.catch_warnings(), threads(1):
        warnings.filterwarnings("ignore", message=".*deterministic.*")
        set_deterministic(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined]
        try:
            yield
        finally:
            set_deterministic(enabled, warn_only=warn_only)
            torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run with this many threads."""
    before = torch.get_num_threads()
    if count == before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_line(error: BaseException) -> str:
    """`RuntimeError: weights has shape ...`: the type and first line of an exception."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def _raises(error: BaseException) -> str:
    """`raises RuntimeError: ...`; or that it ran out of the memory that the worker allows it."""
    if steps.is_out_of_memory(error):
        limit = steps.memory_limit()
        return (
            f"runs out of memory: it may take {limit / 2**30:.3g} GiB beyond its inputs (Limits.memory) and wants more "
            f"({one_line(error)})"
        )
    return f"raises {one_line(error)}{f' ({steps.NO_EXCEPTION})' if steps.is_unknown(error) else ''}"


class Runner:
    """One loaded kernel, its op, and the outcome of every case it was run on.

    Args:
        function: the kernel.
        guard: the library of the memory guard; None builds it when it is needed.
    """

    def __init__(self, function: Function, guard: Build | None = None) -> None:
        self.function, self.guard = function, guard
        self.kernel, self.op, self.device = function.kernel, function.op, function.device
        self.outputs = [output.name for output in self.op.signature.outputs]
        self.gradients = [f"d_{tensor.name}" for tensor in self.op.signature.tensors]
        self.threads = torch.get_num_threads()
        self.exhausted: Case | None = None
        self._outcomes: dict[Case, Outcome] = {}
        self._words: dict[Case, tuple[str, list[str]]] = {}

    def run(self, case: Case) -> Outcome:
        """Run a case, once; the outcome is remembered."""
        outcome = self._outcomes.get(case)
        if outcome is None:
            outcome = self.run_again(case)
            # Threads that get in each other's way do not do so every time.
            for _ in range(_RERUNS if case.group == THREADS else 0):
                if outcome.wrong or outcome.skipped:
                    break
                outcome = self.run_again(case)
            self._outcomes[case] = outcome
        return outcome

    def run_again(self, case: Case, *, alone: bool = False) -> Outcome:
        """Run a case whether it was run before or not; `alone` on one thread."""
        if alone:
            case = replace(case, group="")
        outcome = Outcome()
        call = self.begin(case, outcome)
        if call is not None and self.forward(call, case, outcome):
            self.backward(call, case, outcome)
        return outcome

    def begin(self, case: Case, outcome: Outcome) -> Call | None:
        """Lay out the inputs of a case; None when the reference refuses it, or the memory is not enough for less."""
        outcome.skipped = self.untried(case)
        if outcome.skipped:
            return None
        try:
            expected = expect(self.op, case)
        except Exception as error:
            outcome.refused = True
            outcome.skipped = f"{case.describe(self.op)}: the reference refuses it ({one_line(error)})"
            return None
        placed: list[Any] = []
        wanted = iter(case.wanted or (True,) * len(self.gradients))
        leaves: list[Any] = []
        for argument, value in zip(self.op.signature.inputs, expected.inputs, strict=True):
            if not isinstance(value, Tensor):
                placed.append(None)
                leaves.append(value)
                if argument.is_tensor:
                    next(wanted)
                continue
            layout = case.layout if case.only in ("", argument.name) else "contiguous"
            placed.append(place(value, layout, self.device))
            leaf = placed[-1].tensor.detach()
            leaves.append(leaf.requires_grad_() if next(wanted) and differentiable(value) else leaf)
        return Call(expected, placed, leaves)

    def untried(self, case: Case) -> str:
        """Say why a case is left out: one with no more elements has run out of memory, which takes a second each time."""
        if self.exhausted is None or elements(self.op, case.size) < elements(self.op, self.exhausted.size):
            return ""
        return f"as many elements or more: the kernel had run out of memory at {self.exhausted.describe(self.op)}"

    def note_error(self, case: Case, error: Exception) -> None:
        """Remember a case in which the memory was not enough."""
        if steps.is_out_of_memory(error):
            self.exhausted = case

    def forward(self, call: Call, case: Case, outcome: Outcome) -> bool:
        """Call the kernel and compare its outputs; False when there is nothing to go on with."""
        try:
            with threads(self.threads_for(case)), self.step("forward", case, call):
                call.outputs = as_tuple(self.function(*call.leaves))
        except Exception as error:
            self.note_error(case, error)
            outcome.wrong["forward"] = Mismatch("forward", f"forward {_raises(error)}", RAISES)
            return False
        want = call.expected.outputs
        if len(call.outputs) != len(want):
            sentence = f"forward returns {len(call.outputs)} tensors, want {len(want)}: {', '.join(self.outputs)}"
            outcome.wrong["forward"] = Mismatch("forward", sentence, "count")
            return False
        self.compare_outputs(call, case, outcome)
        self._purity(call, outcome, "forward")
        self._aliases(call, outcome)
        return all(isinstance(output, Tensor) for output in call.outputs)

    def step(self, name: str, case: Case, call: Call | None = None) -> AbstractContextManager[None]:
        """Note, in a worker, what is being done, so that it can be told after a crash."""

        def describe() -> tuple[str, list[str]]:
            if case not in self._words:
                inputs = steps.describe(self.op, call.leaves) if call is not None else []
                self._words[case] = case.describe(self.op), inputs
            return self._words[case]

        return steps.step(name, self.kernel.label, describe)

    def note(self, step: str, case: str, inputs: tuple[str, ...]) -> None:
        """Note, in a worker, that a step of this kernel begins; for those who say what it is in words."""
        steps.note(step, self.kernel.label, case, inputs)

    def threads_for(self, case: Case) -> int:
        return min(self.threads, _MOST_THREADS) if case.threaded else 1

    def compare_outputs(self, call: Call, case: Case, outcome: Outcome) -> None:
        """Compare the outputs of a call as they are now."""
        limit = tolerance(self.op, case)
        for name, got, want, dtype in zip(
            self.outputs, call.outputs, call.expected.outputs, call.expected.dtypes, strict=True
        ):
            self._compare(outcome, call.expected, name, got, want, dtype, limit)

    def backward(self, call: Call, case: Case, outcome: Outcome) -> list[Tensor | None]:
        """Differentiate the outputs and compare the gradients that are wanted."""
        expected = call.expected
        leaves = tensor_inputs(self.op, call.leaves)
        wanted = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf.requires_grad]
        if not wanted:
            for name, output in zip(self.outputs, call.outputs, strict=True):
                if output.requires_grad:
                    outcome.wrong[name] = Mismatch(
                        name, f"{name} requires grad although no input does", "requires grad"
                    )
            return []
        call.grads = [place(grad, case.grads, self.device) for grad in expected.grads]
        chosen = [
            (output, grad.tensor)
            for output, grad, use in zip(call.outputs, call.grads, expected.used, strict=True)
            if use and output.requires_grad and output.shape == grad.tensor.shape
        ]
        found: Sequence[Tensor | None] = [None] * len(wanted)
        try:
            if chosen:
                heads, grads = zip(*chosen, strict=True)
                with threads(self.threads_for(case)), self.step("backward", case, call):
                    found = torch.autograd.grad(heads, [leaves[i] for i in wanted], grads, allow_unused=True)
        except Exception as error:
            self.note_error(case, error)
            outcome.wrong["backward"] = Mismatch("backward", f"backward {_raises(error)}", RAISES)
            return []
        limit = tolerance(self.op, case)
        for i, got in zip(wanted, found, strict=True):
            want = expected.gradients[i]
            assert want is not None
            if got is not None or want.count_nonzero():
                self._compare(outcome, expected, self.gradients[i], got, want, leaves[i].dtype, limit)
            else:
                outcome.seen.append(self.gradients[i])
        self._purity(call, outcome, "backward")
        return list(found)

    def _compare(
        self,
        outcome: Outcome,
        expected: Expected,
        name: str,
        got: Any,
        want: Tensor,
        dtype: torch.dtype,
        limit: Tolerance,
    ) -> None:
        outcome.seen.append(name)
        parts = self.op.parts.get(name.removeprefix("d_"), ())
        mismatch = compare(name, got, want, dtype, limit, parts)
        if mismatch is not None and mismatch.got is not None:
            # Before a kernel is called wrong in single precision: how far off is PyTorch itself on these inputs?
            limit = Tolerance(limit.rtol, limit.atol + 4 * expected.own_error(name))
            mismatch = compare(name, got, want, dtype, limit, parts, lambda wide: expected.excused(name, wide))
            if mismatch is not None and mismatch.want is not None:
                mismatch = replace(mismatch, want=expected.to_be_told(name))
        if mismatch is not None:
            outcome.wrong[name] = mismatch

    def _purity(self, call: Call, outcome: Outcome, when: str) -> None:
        named = [
            (argument.name, placed)
            for argument, placed in zip(self.op.signature.inputs, call.placed, strict=True)
            if placed
        ]
        named += [(f"d_{name}", placed) for name, placed in zip(self.outputs, call.grads, strict=False)]
        done = {name for name, _ in outcome.impure}
        for name, placed in named:
            changed = placed.changed()
            if changed is None or name in done:
                continue
            itemsize = placed.storage.element_size()
            elements = changed.view(-1, itemsize).any(dim=1)
            mine = torch.zeros_like(placed.storage, dtype=torch.bool)
            mine.as_strided(placed.tensor.shape, placed.tensor.stride(), placed.tensor.storage_offset()).fill_(True)
            inside, outside = int((elements & mine).sum()), int((elements & ~mine).sum())
            if inside:
                what = "the incoming gradient" if name.startswith("d_") else "the input"
                total = placed.tensor.numel()
                outcome.impure.append((name, f"{when} changes {what} {name} in {inside} of {total} elements"))
            if outside:
                outcome.impure.append((name, f"{when} writes outside of {name}: {outside} elements around it changed"))

    def _aliases(self, call: Call, outcome: Outcome) -> None:
        for name, output in zip(self.outputs, call.outputs, strict=True):
            if not isinstance(output, Tensor) or not output.numel():
                continue
            for argument, placed in zip(self.op.signature.inputs, call.placed, strict=True):
                if (
                    placed
                    and output.untyped_storage().data_ptr() == placed.storage.untyped_storage().data_ptr()
                    and not self._reference_aliases(call, name)
                ):
                    outcome.impure.append(
                        (name, f"{name} shares its memory with the input {argument.name}: return a new tensor")
                    )

    def _reference_aliases(self, call: Call, name: str) -> bool:
        inputs = call.expected.inputs
        output = as_tuple(self.op.reference(*inputs))[self.outputs.index(name)]
        return any(
            isinstance(v, Tensor) and v.untyped_storage().data_ptr() == output.untyped_storage().data_ptr()
            for v in inputs
        )


def runner_of(built: Built) -> Runner:
    """Load a kernel, to be run on cases."""
    return Runner(load_built(built), built.helpers.get("guard"))


def matrix_of(op: Op, columns: Sequence[str]) -> Matrix:
    """Make an empty matrix: a row for each output and gradient, a column for each group of cases."""
    return {quantity: dict.fromkeys(columns, "") for quantity in quantities(op)}


def fill(matrix: Matrix, column: str, outcome: Outcome, outputs: Sequence[str]) -> None:
    """Enter an outcome into its column; the first thing that is wrong stays."""
    for quantity, cells in matrix.items():
        call = outcome.wrong.get("forward") or (outcome.wrong.get("backward") if quantity not in outputs else None)
        mismatch = outcome.wrong.get(quantity) or call
        if mismatch is not None:
            if cells[column] in ("", "ok"):
                cells[column] = mismatch.cell
        elif quantity in outcome.seen and not cells[column]:
            cells[column] = "ok"
