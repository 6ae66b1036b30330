"""Timing of one kernel with many choices of its params, in the same rounds as the kernel as it stands.

What is done, and why:

1. All points are built in parallel, and each is compared with the reference, in the worker. A point that does not compile,
   is wrong or crashes is no reason to lose the others: it is told, and not timed.
2. What is left is timed as `benchmark` times kernels, with the kernel as it stands as the baseline.
3. The fastest of many is fast by luck, too. If a point seems faster than the baseline, the fastest is timed a second time
   beside it, and only if that holds is it called the best, with the second figure.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..arguments import boolean, mapping, number, one_of, refusal, require_choices, shown
from ..build.compiler import build
from ..errors import BuildError, CheckError, CrashError, InputError
from ..registry import Kernel, Op, registry, resolve
from ..told import nobody_told
from .benchmark import benchmark, possible_directions
from .check import check as full_check
from .entrants import Progress, Step, load_all, require_timing, steps, tensor_device
from .isolated import Prepared, ask, prepare
from .load import require_device
from .partial import Watch, watch_of
from .sizes import choose_sizes
from .swept import Point, Sweep
from .timing.audit import Auditor
from .timing.inputs import Ring
from .timings import DIRECTIONS, Row, Timings
from .worker import steps as worker_steps
from .worker.limits import Limits, require_limits

__all__ = ["Point", "Sweep", "sweep"]

#: More points than this take minutes, and no picture of them can be read.
MOST_POINTS = 64
_TICKS, _CONFIRM_TICKS = 100, 25
_SEED = 2019


def sweep(
    kernel: Kernel | str,
    params: Mapping[str, Sequence[int | float]],
    size: Sequence[int] | Mapping[str, int] | None = None,
    *,
    direction: str | None = None,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    seconds: float = 0.3,
    rounds: int = 400,
    check: bool = False,
    progress: Progress | bool | None = None,
    watch: Watch | None = None,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    trust: bool = False,
    limits: Limits | None = None,
) -> Sweep:
    """Time a kernel with every combination of values of one or two of its params.

    Each combination is a revision of the kernel, as `kernel.replace(params=...)` makes it; none is registered.

    Args:
        kernel: a kernel with params, or its label.
        params: the values to try, by name: `{"GRAIN": [512, 2048], "SPLIT": [64, 256]}`; 64 combinations at most.
        size: a tuple in the order of the op's letters, or a dict by letter; default: the first of the op's own.
        direction: `forward`, `backward` or `both`; default: both, or forward for an op without gradients.
        dtype, device, seconds, rounds: as for `benchmark`; `seconds` for each point.
        check: run the full `check` of every point. Without it each is compared with the reference at the size.
        progress, watch, compiler, cflags, trust, limits: as for `benchmark`.

    Returns:
        A Sweep: `.best` is the point that is clearly faster than the kernel as it stands, if there is one.

    Raises:
        InputError: a param that the kernel does not have, values that are no numbers, or too many of them.
        BuildError, CheckError, CrashError: the kernel as it stands does not compile, is wrong or crashes.
        KeyboardInterrupt: on Ctrl-C.

    Example:
        >>> swept = sweep("lltm/fused", {"GRAIN": [1024, 2048]}, (2, 3, 5), seconds=0.01, progress=False)
        >>> [point.text for point in swept.rows], swept.rows[1].kernel
        (['GRAIN=1024', 'GRAIN=2048'], 'lltm/fused')
    """
    require_choices(device=device, compiler=compiler, cflags=cflags, progress=progress, trust=trust)
    require_limits(limits)
    watch, base = watch_of(watch), resolve(kernel)
    wanted = list(DIRECTIONS) if direction is None else [one_of("direction", direction, DIRECTIONS)]
    require_timing(dtype=dtype, check=boolean("check", check), seconds=seconds, rounds=rounds, directions=wanted)
    values = _values_of(base, params)
    require_device(device, base)
    op = registry.op_of(base)
    at = choose_sizes(op, None if size is None else [size])[0]
    possible = possible_directions(op, wanted, at, dtype, device)
    task = _Task(op, at, possible[-1], dtype, device, seconds, rounds, check, compiler, cflags, trust, limits)
    kernels = _kernels_of(base, values)
    total = 1 + len(kernels) + _TICKS + _CONFIRM_TICKS
    with steps(progress, f"sweep of {base.label}", total) as step, nobody_told():
        problems = _problems(task, base, kernels, step)
        timed = [one for one in dict.fromkeys((base, *kernels)) if one.label not in problems]
        first = _time(task, timed, base, step, _TICKS, watch)
        confirmed = _confirm(task, first, timed, base, step)
    rows = {row.kernel: row for row in first.rows}
    points = tuple(
        Point(dict(zip(values, combination, strict=True)), one.label, rows.get(one.label), problems.get(one.label, ""))
        for combination, one in zip(itertools.product(*values.values()), kernels, strict=True)
    )
    return Sweep(base.label, dict(base.params), values, points, rows[base.label], confirmed)


@dataclass(frozen=True)
class _Task:
    """At what, and how, points are timed."""

    op: Op
    size: tuple[int, ...]
    direction: str
    dtype: torch.dtype
    device: str
    seconds: float
    rounds: int
    check: bool
    compiler: str | None
    cflags: Sequence[str] | None
    trust: bool
    limits: Limits | None


def _values_of(kernel: Kernel, params: Any) -> dict[str, tuple[int | float, ...]]:
    """Look at what is to be tried.

    Raises:
        InputError: so.
    """
    given = mapping("params", params, "a dict of lists of numbers by name, {'UNROLL': [1, 2, 4]}")
    has = f"it has {', '.join(kernel.params)}" if kernel.params else "it has none"
    for name in given:
        if name not in kernel.params:
            near = difflib.get_close_matches(name, kernel.params, n=1, cutoff=0.5) if len(name) < 200 else []
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"kernel {kernel.label!r} has no param {shown(name)}.{hint} I{has[1:]}")
    if not 1 <= len(given) <= 2:
        raise refusal("params", params, f"one or two of the params of {kernel.label!r} ({has})")
    values = {}
    for name, tried in given.items():
        if not isinstance(tried, list | tuple | range) or not tried:
            raise refusal(f"params[{name!r}]", tried, "a list of numbers")
        values[name] = tuple(
            dict.fromkeys(number(f"params[{name!r}]: one", value) for value in tried[: MOST_POINTS + 1])
        )
    count = len(list(itertools.product(*values.values())))
    if count > MOST_POINTS:
        raise InputError(f"params makes more than {MOST_POINTS} points: try fewer values, then others near the best")
    return values


def _kernels_of(base: Kernel, values: Mapping[str, Sequence[int | float]]) -> list[Kernel]:
    """Make a revision for each combination; none if one of them cannot be a param.

    Raises:
        DefinitionError: so.
    """
    chosen = [dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())]
    for params in chosen:  # what is looked at here does not count as a revision yet
        replace(base, params={**base.params, **params})
    return [base.replace(params=params) for params in chosen]


def _problems(task: _Task, base: Kernel, kernels: Iterable[Kernel], step: Step) -> dict[str, str]:
    """Build and compare every kernel, and say of each that cannot be timed why not.

    Raises:
        BuildError, CheckError, CrashError: of the kernel as it stands.
    """
    left = {one.label: one for one in (base, *kernels)}
    problems: dict[str, str] = {}
    prepared: Prepared | None = None
    here = task.trust or worker_steps.in_worker()
    while True:
        step(0, f"building {len(left)} points")
        try:
            if here:
                build(
                    list(left.values()), device=task.device, compiler=task.compiler, cflags=task.cflags, progress=False
                )
            else:
                prepared = prepare(list(left.values()), task.device, task.compiler, task.cflags, False)
            break
        except BuildError as error:
            if error.kernel == base.label or error.kernel not in left:
                raise
            problems[error.kernel] = _reason(error, error.kernel)
            del left[error.kernel]
    for one in left.values():
        step(1, f"comparing {one.label} with the reference")
        try:
            _compare(task, one, prepared)
        except (CheckError, CrashError) as error:
            if one.label == base.label:
                raise
            problems[one.label] = _reason(error, one.label)
    step(len(problems), "compared")
    return problems


def _compare(task: _Task, kernel: Kernel, prepared: Prepared | None) -> None:
    """Compare a kernel with the reference at the size, or check it as a whole.

    Raises:
        CheckError: it is wrong; CrashError: it crashes.
    """
    common: dict[str, Any] = {"device": task.device, "compiler": task.compiler, "cflags": task.cflags}
    if task.check:
        report = full_check(kernel, **common, progress=False, trust=task.trust, limits=task.limits)
        if report.crash is not None:
            raise report.crash.error()
        if not report.ok:
            raise CheckError(f"{report.headline}\nIt was not timed. The whole report: e.report", report=report)
    arguments = (kernel, task.size, task.direction, task.dtype, task.device, task.compiler, task.cflags)
    if prepared is None:
        compare_here(*arguments)
    else:
        ask(compare_here, *arguments, kernels=[kernel], device=task.device, limits=task.limits, prepared=prepared)


def compare_here(
    kernel: Kernel,
    size: tuple[int, ...],
    direction: str,
    dtype: torch.dtype,
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
) -> None:
    """Compare a kernel with the reference in this process; for the worker.

    Raises:
        CheckError: it is wrong.
    """
    (entrant,) = load_all([kernel], device, compiler, cflags, lambda more, text: None)
    op = registry.op_of(kernel)
    ring = Ring(op, size, dtype=dtype, device=tensor_device(device), seed=_SEED)
    where = ", ".join(f"{letter}={extent}" for letter, extent in op.named(size).items())
    Auditor(op, ring, where, gradients=direction != "forward").before(entrant.label, entrant.function)


def _time(
    task: _Task, kernels: list[Kernel], base: Kernel, step: Step, ticks: int, watch: Watch | None = None
) -> Timings:
    """Time kernels against the kernel as it stands."""
    shown = 0

    def told(done: int, total: int, text: str) -> None:
        nonlocal shown
        step(ticks * done // total - shown, text)
        shown = ticks * done // total

    return benchmark(
        *(kernels, [task.size]),
        baseline=base,
        directions=[task.direction],
        dtype=task.dtype,
        device=task.device,
        seconds=task.seconds,
        rounds=task.rounds,
        check=False,
        progress=told,
        watch=watch,
        compiler=task.compiler,
        cflags=task.cflags,
        trust=task.trust,
        limits=task.limits,
    )


def _confirm(task: _Task, first: Timings, kernels: Sequence[Kernel], base: Kernel, step: Step) -> Row | None:
    """Time the fastest a second time, if it seems faster than the kernel as it stands."""
    faster = [row for row in first.rows if row.outcome == "faster"]
    if not faster:
        step(_CONFIRM_TICKS, "timed")
        return None
    label = max(faster, key=lambda row: row.speedup).kernel
    second = _time(task, [base, *(one for one in kernels if one.label == label)], base, step, _CONFIRM_TICKS)
    return second.select(kernel=label).rows[0]


def _reason(error: Exception, label: str) -> str:
    """Say what is wrong with a point in a line; of a compiler's error what the compiler said."""
    diagnostics = getattr(error, "diagnostics", ())
    if diagnostics:
        return f"it did not compile: {diagnostics[0].message}"
    line = str(error).partition("\n")[0].removesuffix(" It was not timed.")
    return line.removeprefix(f"'{label}' ").removeprefix(f"{label} ")
