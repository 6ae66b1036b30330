"""How many times as fast a submission is as the baseline: timed from outside, in turns, with every answer compared.

    stop      the process stands still, with all its threads
    write     inputs that it has never seen go into the memory that it shares
    start     the clock runs, the process goes on
    done      it says that it is done: it stops again, and then the clock does
    compare   all that it gave is copied out, and compared with the reference

Nothing can be computed before the clock, as the inputs are not there; and nothing after it, as what was not there when
everything stood still is missing. The sizes are drawn anew for each run, and earlier results are looked at again after each call:
so a kernel cannot be fast at a size that it knows, or by handing out memory that it needs again. A process stands still from its
answer to its next question: while one is timed, no thread of the other takes a core from it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..base.processors import processors
from ..errors import InfraError
from ..measure import stats
from ..model.registry import Op
from ..run.cases.case import Case, elements
from ..run.cases.drawing import secret
from ..run.cases.expectation import Expected, compute, quantities
from ..run.cases.tolerance import excused, tolerance
from ..run.compare import Tolerance, compare
from .inside import Ask
from .locked import Answer, Gone, same
from .runner import CHANGES, Runner

_WARM, _ROUNDS, _MOST_BYTES = 2, 24, 100 << 20
#: How many sizes are timed, and how much smaller than the largest benchmark size their extents may be; short ones stay as they are.
_SIZES, _SHARE, _SHORT = 3, 0.7, 16


def speedup(op: Op, runner: Runner, baseline: Runner, seed: bytes) -> tuple[float, float, float] | str:
    """Time forward and backward together, somewhat below the op's largest benchmark size.

    Args:
        op: what is computed.
        runner, baseline: of the submission, and of what it is held against.
        seed: from which sizes and inputs follow.

    Returns:
        How many times as fast, with its interval; or why that cannot be said: a wrong result.

    Raises:
        Gone: the submission's process has ended.
        InfraError: the baseline's has, or is wrong.
    """
    dtype = torch.float32 if "float32" in op.dtypes else getattr(torch, op.dtypes[0])
    sizes = [size for size in op.benchmark_sizes if elements(op, size) * dtype.itemsize < _MOST_BYTES]
    if not sizes:
        raise InfraError(
            f"op {op.name!r} has no benchmark size of less than {_MOST_BYTES / 2**20:.0f} MiB: nothing can be timed"
        )
    size = max(sizes, key=lambda one: elements(op, one))
    drawn, threads = below(op, size, random.Random(seed)), processors()
    slack: dict[tuple[int, ...], Mapping[str, float]] = {}
    times: dict[str, list[float]] = {"baseline": [], "kernel": []}
    lines = {"baseline": Line(op, baseline), "kernel": Line(op, runner)}
    for number in range(_WARM + _ROUNDS):
        size = drawn[number % len(drawn)]
        case = Case("", size, dtype)
        with secret(seed + number.to_bytes(2)):  # other inputs each time, and nobody remembers them
            known = compute(op, case)
        if size not in slack:  # how far off PyTorch itself is in the dtype that is timed
            slack[size] = {name: known.own_error(name, bound=True) for name in known.wide}
        limit = tolerance(op, case)
        order = ["baseline", "kernel"]
        for name in order if number % 2 else reversed(order):
            try:
                seconds, values = lines[name].timed(known.inputs, known.grads, threads)
                wrong = lines[name].wrong or _wrong(known, values, limit, slack[size])
            except Gone as gone:
                if name == "baseline":
                    raise InfraError(f"the baseline {gone.reason}") from None
                raise
            except InfraError:
                raise
            except RuntimeError as error:
                wrong = f"raises {error}"
            if wrong and name == "baseline":
                raise InfraError(f"the baseline is wrong: {wrong}")
            if wrong:
                return f"what it gives while it is timed is wrong: {wrong}"
            if number >= _WARM:
                times[name].append(seconds)
    middle, low, high = stats.ratio(times["baseline"], times["kernel"])
    if low is None or high is None:
        raise InfraError("too few rounds to say how fast it is")
    return middle, low, high


def below(op: Op, largest: Sequence[int], draw: random.Random, count: int = _SIZES) -> list[tuple[int, ...]]:
    """Draw sizes below the largest; that one where the op allows no other."""
    found = list[tuple[int, ...]]()
    for _ in range(20 * _SIZES):
        size = tuple(n if n < _SHORT else draw.randint(int(_SHARE * n), n - 1) for n in largest)
        if op.allows(size) and size not in found and len(found) < count:
            found.append(size)
    return found or [tuple(largest)]


class Line:
    """The calls of one kernel that are timed, one after another.

    Args:
        op: what it computes.
        runner: of it.

    Attributes:
        wrong: what was seen of the last call beside its results.
    """

    def __init__(self, op: Op, runner: Runner) -> None:
        self._op, self._runner, self.wrong = op, runner, ""
        #: The first answer and the last one: a kernel that hands out some buffers in turn writes into one of them again.
        self._held: list[tuple[int, Answer]] = []

    def timed(self, inputs: Sequence[Any], grads: Sequence[Tensor], threads: int) -> tuple[float, tuple[Any, ...]]:
        """Make one call, forward and backward, of a process that stands still before and after.

        Returns:
            The seconds, and what it gave.

        Raises:
            Gone: the process has ended. RuntimeError: the kernel raises.
        """
        runner, process, count = self._runner, self._runner.start(), len(inputs)
        process.halt()
        process.require_silence()
        gradients = {argument.name for argument in self._op.gradients}
        wanted = [
            argument.name in gradients and isinstance(value, Tensor)
            for argument, value in zip(self._op.signature.inputs, inputs, strict=True)
        ]
        number = next(runner.numbers)
        forget = tuple(number for number, _ in self._held[1:-1])
        del self._held[1:-1]
        for old in forget:
            process.forget(old)
        laid, kept = process.lay(number, [*inputs, *grads], [*wanted, *[False] * len(grads)])
        ask = Ask(number, laid[:count], grads=laid[count:], wanted=tuple(wanted), both=bool(gradients), threads=threads)
        process.ask(replace(ask, forget=forget))
        started = time.perf_counter()
        process.go_on()
        process.wait(runner.limits.seconds)
        process.halt()
        seconds = time.perf_counter() - started
        answer = process.receive(number, 1.0)
        process.require_silence()
        if answer.raised:
            raise RuntimeError(answer.text)
        answer = process.read(answer)
        self.wrong = ""
        if process.changed(kept) and not self._op.signature.changed:
            self.wrong = "it changes its inputs"
        elif not all(all(map(same, process.read(old).values, old.values)) for _, old in self._held):
            self.wrong = CHANGES
        self._held.append((number, answer))
        return seconds, answer.values


def _wrong(known: Expected, values: Sequence[Any], limit: Tolerance, own: Mapping[str, float]) -> str:
    """Say which of the results is not what it should be: as close as a check wants it."""
    op, names = known.op, quantities(known.op)
    differentiable = [argument in op.gradients for argument in op.signature.inputs] if op.gradients else []
    count = len(op.signature.outputs)
    given = [*values[:count], *(value for value, has in zip(values[count:], differentiable, strict=False) if has)]
    if len(given) != len(names):
        return f"{len(given)} results, want {len(names)}"
    for name, got in zip(names, given, strict=True):
        if (right := known.wide.get(name)) is None:
            continue
        if not isinstance(got, Tensor) or got.shape != right.shape:
            return f"{name} is missing or of another shape"
        wider = Tolerance(limit.rtol, limit.atol + 4 * own[name])
        if compare(name, got, right, got.dtype, wider, (), partial(excused, known, name)) is not None:
            return f"{name} is not what it should be"
    return ""
