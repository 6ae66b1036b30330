"""One sample of one kernel: the calls between two looks at the clock, and nothing else between them."""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import CheckError
from ..run.function import Function
from ..workers import steps
from .audit import Auditor
from .inputs import InputSet, Ring
from .machine import synchronize
from .stats import is_clear, ratio

#: A sample lasts at least this long, so that the clock and the loop around the calls do not count.
SAMPLE_SECONDS = 200e-6

_LONGEST_SAMPLE = 20e-3
_LONGEST_LEAD = 5e-3
_WARM_SECONDS = 10e-3
_WARM_CALLS = (3, 50)


def clock() -> int:
    """Read the time in nanoseconds; tests put their own clock here."""
    return time.perf_counter_ns()


@dataclass
class Series:
    """One size and direction under way: what is timed, and what its rounds have given until now.

    By label: the samples in seconds a call, the timed calls of one sample, and the untimed calls that lead it.
    """

    ring: Ring
    auditor: Auditor
    direction: str
    device: str
    functions: Sequence[Function]
    baseline: str
    calls: dict[str, int] = field(default_factory=dict)
    leads: dict[str, int] = field(default_factory=dict)
    samples: dict[str, list[float]] = field(default_factory=dict)

    def describe(self) -> tuple[str, list[str]]:
        """Return the size and direction, and the inputs, in words."""
        return f"{self.auditor.where}, {self.direction}", self.ring.describe()

    @property
    def is_clear(self) -> bool:
        base = self.samples[self.baseline]
        others = [label for label in self.samples if label != self.baseline]
        return bool(others) and all(is_clear(*ratio(base, self.samples[label])) for label in others)


def take_round(series: Series, order: random.Random, *, audited: bool, counted: bool = True) -> None:
    """Take one sample of every kernel, in random order.

    Args:
        audited: compare the results of the last timed call with the reference.
        counted: keep the sample.

    Raises:
        CheckError: a result is wrong.
    """
    for function in order.sample(series.functions, len(series.functions)):
        label = function.kernel.label
        calls, lead = series.calls[label], series.leads[label]
        sets = series.ring.refill(calls + lead)
        before = series.auditor.kept(sets[-1])
        elapsed, results, gradients = _sample(function, sets, lead, series)
        if audited and not series.ring.random:
            when = "It was right before it was timed: does it keep results? Its times were thrown away."
            if series.direction != "backward":
                series.auditor.outputs(label, results, sets[-1], before, when=when)
            if series.direction != "forward":
                series.auditor.gradients(label, gradients, sets[-1], when=when)
        if counted:
            series.samples.setdefault(label, []).append(max(elapsed, 1) / calls / 1e9)


def _sample(function: Function, sets: Sequence[InputSet], lead: int, series: Series) -> tuple[int, Any, Any]:
    """Time one call on each set but the first `lead`; return nanoseconds and what the last call gave.

    The calls that lead are of the same kind and not timed: they put the kernel's own code, threads and temporary
    memory back into place after another kernel, or the building of graphs, has run.

    Raises:
        CheckError: the kernel raised something.
    """
    label = function.kernel.label
    try:
        with steps.step("benchmark", label, series.describe):
            return _timed(function, sets, lead, series)
    except Exception as error:
        # It was compared before, so this is no plain mistake: it comes with the calls before it, or with their number.
        text = f"'{label}' failed while it was timed: {type(error).__name__}: {error}"
        raise CheckError(f"{text}\nIt was right before it was timed: does it keep results?") from error


def _timed(function: Function, sets: Sequence[InputSet], lead: int, series: Series) -> tuple[int, Any, Any]:
    where = series.ring.differentiable
    results = gradients = None
    graphs = [_pick(function(*one.inputs), where) for one in sets] if series.direction == "backward" else []
    with torch.set_grad_enabled(series.direction != "forward"):
        for first, last in ((0, lead), (lead, len(sets))):
            timed = sets[first:last]
            synchronize(series.device)
            start = clock()
            if series.direction == "forward":
                for one in timed:
                    results = function(*one.inputs)
            elif series.direction == "backward":
                for outputs, one in zip(graphs[first:last], timed, strict=True):
                    gradients = torch.autograd.grad(outputs, one.wanted, one.grads, allow_unused=True)
            else:
                for one in timed:
                    results = function(*one.inputs)
                    gradients = torch.autograd.grad(_pick(results, where), one.wanted, one.grads, allow_unused=True)
            synchronize(series.device)
            elapsed = clock() - start
    return elapsed, results, gradients


def _pick(results: Any, where: Sequence[int]) -> Any:
    """Keep the outputs that have a gradient; mostly these are all of them."""
    if isinstance(results, torch.Tensor):
        return (results,)
    return results if len(where) == len(results) else [results[index] for index in where]


def warm_up(series: Series) -> None:
    """Call every kernel until it has warmed up, and choose how many calls make one sample.

    All kernels get the same number, that of the fastest, unless a sample would become too long.
    """
    once = {}
    for function in series.functions:
        times: list[int] = []
        while len(times) < _WARM_CALLS[0] or (sum(times) < _WARM_SECONDS * 1e9 and len(times) < _WARM_CALLS[1]):
            times.append(_sample(function, series.ring.refill(1), 0, series)[0])
        once[function.kernel.label] = max(min(times), 1) / 1e9
    most = math.ceil(SAMPLE_SECONDS / min(once.values()))
    for label, seconds in once.items():
        series.leads[label] = int(seconds < _LONGEST_LEAD)
        longest = int(max(_LONGEST_SAMPLE, SAMPLE_SECONDS) / seconds)
        series.calls[label] = max(1, min(most, longest, series.ring.capacity - 1))


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector from running inside a sample."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
