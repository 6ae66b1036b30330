"""What the benchmarks over all ops share: who takes part, and samples taken in turns."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from common import li

from lltm_inline.errors import LltmInlineError
from lltm_inline.measure.inputs import InputSet, Ring
from lltm_inline.run.function import as_tuple

EAGER, COMPILED = "eager", "torch.compile"
DIRECTIONS = ("forward", "forward + backward")
SAMPLE_SECONDS = 1e-3
FEWEST_ROUNDS = 9

Call = Callable[[], Any]


def runs_on_cpu(kernel: Any) -> bool:
    """Tell whether a kernel has something that a CPU can run: a Python function, or a C++ text that is not a host side."""
    return kernel.python is not None or bool(kernel.cpp and not kernel.cuda)


def variants(op: Any, notes: list[str]) -> list[Any]:
    """List the kernels of an op but the reference; a line goes to `notes` for each that no CPU can run."""
    found = [kernel for kernel in li.registry.values() if kernel.op == op.name and kernel.python is not op.reference]
    for kernel in found:
        if not runs_on_cpu(kernel):
            notes.append(f"{kernel.label} is left out: it has no text for a CPU")
    return [kernel for kernel in found if runs_on_cpu(kernel)]


def load_all(ops: Sequence[Any], notes: list[str]) -> dict[str, dict[str, Callable[..., Any]]]:
    """Build the kernels of all ops, in parallel, and load them: by op, then by label.

    Kernels that cannot be built are left out with a line in `notes`, so that the others are measured all the same.
    """
    kernels = {op.name: variants(op, notes) for op in ops}
    sources = [kernel for found in kernels.values() for kernel in found if kernel.python is None]
    with suppress(LltmInlineError):  # the one that fails is named below
        li.build(sources, progress=False)
    loaded: dict[str, dict[str, Callable[..., Any]]] = {}
    for name, found in kernels.items():
        loaded[name] = {}
        for kernel in found:
            try:
                loaded[name][kernel.label] = li.load(kernel, progress=False)
            except LltmInlineError as error:
                notes.append(f"FAILED: {kernel.label} is left out: {str(error).partition(chr(10))[0]}")
    return loaded


def compiled(op: Any) -> Callable[..., Any]:
    """Return torch.compile of the reference, for one size."""
    torch.compiler.reset()
    return torch.compile(op.reference, dynamic=False)


def calls_of(function: Callable[..., Any], ring: Ring, sets: Sequence[InputSet]) -> dict[str, Call]:
    """Return one call for each direction; inputs change from call to call, so nothing can be kept."""
    turn = iter(lambda: random.randrange(len(sets)), -1)

    def forward() -> Any:
        with torch.no_grad():
            return function(*sets[next(turn)].inputs)

    def both() -> Any:
        one = sets[next(turn)]
        results = as_tuple(function(*one.inputs))
        return torch.autograd.grad([results[i] for i in ring.differentiable], one.wanted, one.grads, allow_unused=True)

    return dict(zip(DIRECTIONS, (forward, both) if ring.names else (forward,), strict=False))


def sample(call: Call, number: int) -> float:
    """Return the seconds of one call, the mean over a few."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def in_turns(calls: dict[str, Call], seconds: float) -> dict[str, list[float]]:
    """Take samples of all calls in rounds, each round in random order.

    Args:
        calls: by name.
        seconds: to spend on all of them together, about; at least nine rounds are taken.

    Returns:
        By name one sample a round, in seconds a call.
    """
    numbers = {}
    for name, call in calls.items():
        sample(call, 3)
        numbers[name] = max(1, min(500, int(SAMPLE_SECONDS / sample(call, 3))))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    ends = time.perf_counter() + seconds
    first = next(iter(samples.values()))
    while time.perf_counter() < ends or len(first) < FEWEST_ROUNDS:
        for name in random.sample(list(calls), len(calls)):
            samples[name].append(sample(calls[name], numbers[name]))
    return samples


def quiet(call: Call) -> Any:
    """Run a call without the warnings of torch.compile, which are about its own limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def warm(calls: dict[str, dict[str, Call]], notes: list[str], where: str) -> None:
    """Run every call once, which compiles what is to be compiled; what torch.compile cannot do is left out."""
    for name in list(calls):
        try:
            for call in calls[name].values():
                quiet(partial(_once, call))
        except Exception as error:
            if name != COMPILED:
                raise
            del calls[name]
            notes.append(
                f"torch.compile is left out at {where}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
            )


def _once(call: Call) -> None:
    call()
