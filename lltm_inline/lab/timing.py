"""How many times as fast a submission is as the baseline: timed from outside, in turns, with every answer compared.

    stop      the process stands still, with all its threads
    write     inputs that it has never seen go into the memory that it shares
    start     the clock runs, the process goes on
    done      it says that it is done: it stops again, and then the clock does
    compare   all that it gave is copied out, and compared with the reference

Nothing can be computed ahead of the clock, as the inputs are not there; and nothing after it, as what was not there when
everything stood still is missing. A process stands still from its answer to its next question: while one is timed, no thread of
the other takes a core from it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..base.processors import processors
from ..errors import InfraError
from ..measure import stats
from ..model.op import of_dtype
from ..model.registry import Op
from ..run.cases import Case, elements, generator, run_reference, seeded, tolerance, widen
from ..run.compare import dtype_name
from ..run.function import each
from .inside import Ask
from .locked import Gone
from .runner import Runner

_WARM, _ROUNDS, _MOST_BYTES = 2, 24, 100 << 20


def speedup(op: Op, runner: Runner, baseline: Runner) -> tuple[float, float, float] | str:
    """Time forward and backward together at the op's largest benchmark size.

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
    times: dict[str, list[float]] = {"baseline": [], "kernel": []}
    threads = processors()
    for number in range(_WARM + _ROUNDS):
        inputs, grads, want = _drawn(op, size, dtype, number)
        order = [("baseline", baseline), ("kernel", runner)]
        for name, one in order if number % 2 else reversed(order):
            try:
                seconds, values = timed(op, one, inputs, grads, threads)
                wrong = _wrong(op, size, dtype, values, want)
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


def timed(
    op: Op, runner: Runner, inputs: Sequence[Any], grads: Sequence[Tensor], threads: int
) -> tuple[float, tuple[Any, ...]]:
    """Make one call, forward and backward, of a process that stands still ahead and behind; return the seconds and what it gave."""
    process = runner.start()
    process.halt()
    process.require_silence()
    gradients = {argument.name for argument in op.gradients}
    wanted = tuple(
        argument.name in gradients and isinstance(v, Tensor)
        for argument, v in zip(op.signature.inputs, inputs, strict=True)
    )
    number = runner.next_number()
    laid, kept = process.lay(number, [*inputs, *grads], [*wanted, *[False] * len(grads)])
    process.forget(number)
    count = len(inputs)
    process.ask(
        Ask(
            number,
            inputs=laid[:count],
            grads=laid[count:],
            wanted=wanted,
            both=bool(gradients),
            threads=threads,
            forget=(number - 1,),
        )
    )
    started = time.perf_counter()
    process.go_on()
    process.wait(runner.limits.seconds)
    process.halt()
    seconds = time.perf_counter() - started
    answer = process.receive(number, 1.0)
    process.take_back(kept)
    process.require_silence()
    if answer.raised:
        raise RuntimeError(answer.text)
    return seconds, answer.values


def _drawn(
    op: Op, size: Sequence[int], dtype: torch.dtype, number: int
) -> tuple[list[Any], list[Tensor], list[Tensor | None]]:
    """Draw inputs and incoming gradients, and return them with what they should give."""
    draw = generator(op.name, tuple(size), "timed", number)

    def randn(*shape: int) -> Tensor:
        return of_dtype(torch.randn(shape, dtype=torch.float32, generator=draw), dtype_name(dtype))

    with seeded(seed=draw.initial_seed()):
        inputs = op.make_inputs(randn, size)
    with torch.no_grad():
        outputs = op.run_reference(*inputs)
    grads = [torch.randn(o.shape, dtype=torch.float32, generator=draw).to(o.dtype) for o in outputs]
    wide = [each(value, widen) for value in inputs]
    found, gradients = run_reference(op, wide, [widen(grad) for grad in grads], [True] * len(grads))
    return list(inputs), grads, [*found, *gradients]


def _wrong(
    op: Op, size: Sequence[int], dtype: torch.dtype, values: Sequence[Any], want: Sequence[Tensor | None]
) -> str:
    """Say which of the results is not what it should be."""
    limit = tolerance(op, Case("", tuple(size), dtype))
    names = [*(result.name for result in op.signature.results), *(f"d_{tensor.name}" for tensor in op.gradients)]
    differentiable = [argument in op.gradients for argument in op.signature.inputs] if op.gradients else []
    count = len(op.signature.outputs)
    given = [*values[:count], *(value for value, has in zip(values[count:], differentiable, strict=False) if has)]
    if len(given) != len(names):
        return f"{len(given)} results, want {len(names)}"
    for name, got, right in zip(names, given, want, strict=True):
        if right is None:
            continue
        if not isinstance(got, Tensor) or got.shape != right.shape:
            return f"{name} is missing or of another shape"
        if not bool(((got.to(right.dtype) - right).abs() <= 10 * limit.limit(right)).all()):
            return f"{name} is not what it should be"
    return ""
