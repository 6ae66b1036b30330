"""Timing of one kernel with many choices of its params, in the same rounds as the kernel as it stands.

What is done, and why:

1. All points are built in parallel, and each is compared with the reference, in the worker. A point that does not compile,
   is wrong or crashes is no reason to lose the others: it is told, and not timed.
2. What is left is timed as `benchmark` times kernels, with the kernel as it stands as the baseline.
3. The fastest of many is fast by luck, too. If a point seems faster than the baseline, the fastest is timed a second time
   beside it, and only if that holds is it called the best, with the second figure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import torch

from ..base.arguments import boolean, did_you_mean, mapping, number, one_of, require, shown
from ..base.progress import Show, showing
from ..checking.check import require_right
from ..checking.postmortem import run_or_raise
from ..errors import BuildError, CheckError, CrashError, InputError
from ..model.registry import Kernel, registry, resolve
from ..run.built import Built, require_device
from ..run.cases.case import size_text
from ..run.executor import Task, prepare
from ..run.library import load_built
from ..run.setting import Options, Setting, choose_sizes, require_timing, takes
from ..tables.partial import Watch, watch_of
from ..tables.sweep import Point, Sweep
from ..tables.timings import DIRECTIONS, GLANCE_SECONDS, Row, Timings
from .audit import Auditor
from .benchmark import TICKS as _TICKS_OF_A_CASE
from .benchmark import Plan, possible_directions, time_built
from .inputs import Ring

#: More points than this take minutes, and no picture of them can be read.
MOST_POINTS = 64
_TICKS, _CONFIRM_TICKS = 100, 25


@takes(Options)
def sweep(
    kernel: Kernel | str,
    params: Mapping[str, Sequence[int | float]],
    size: Sequence[int] | Mapping[str, int] | None = None,
    *,
    direction: str | None = None,
    dtype: torch.dtype = torch.float32,
    seconds: float = GLANCE_SECONDS,
    rounds: int = 400,
    check: bool = False,
    watch: Watch | None = None,
    **options: Unpack[Options],
) -> Sweep:
    """Time a kernel with every combination of values of one or two of its params.

    Each combination is a revision of the kernel, as `kernel.replace(params=...)` makes it; none is registered.

    Args:
        kernel: a kernel with params, or its label.
        params: the values to try, by name: `{"GRAIN": [512, 2048], "SPLIT": [64, 256]}`; 64 combinations at most.
        size: a tuple in the order of the op's letters, or a dict by letter; default: the first of the op's own.
        direction: `forward`, `backward` or `both`; default: both, or forward for an op without gradients.
        dtype, seconds, rounds: as for `benchmark`; `seconds` for each point.
        check: run the full `check` of every point. Without it, each point is only compared with the reference at this size.
        watch: as for `benchmark`.
        options: of `Setting`, by name.

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
    setting = Setting.of(sweep, options)
    watch, base = watch_of(watch), resolve(kernel)
    wanted = list(DIRECTIONS) if direction is None else [one_of("direction", direction, DIRECTIONS)]
    require_timing(dtype=dtype, check=boolean("check", check), seconds=seconds, rounds=rounds, directions=wanted)
    values = _values_of(base, params)
    require_device(setting.device, base)
    op = registry.op_of(base)
    at = choose_sizes(op, None if size is None else [size])[0]
    possible = possible_directions(op, wanted, at, dtype, setting.device)
    plan = Plan((at,), base.label, possible[-1:], dtype, seconds, rounds)
    tried = [dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())]
    for chosen in tried:  # what is looked at here does not count as a revision yet: one of them may be no param
        replace(base, params={**base.params, **chosen})
    kernels = [base.replace(params=chosen) for chosen in tried]
    total = 1 + len(kernels) + _TICKS + _CONFIRM_TICKS
    with showing(f"sweep of {base.label}", setting.progress, total) as show, registry.no_notes():
        setting = replace(setting, progress=False)
        built, problems = _build([base, *kernels], setting, show, check)
        for one in built:
            show(f"comparing {one.kernel.label} with the reference", 1)
            try:
                if check:
                    forward = plan.directions == ("forward",)
                    require_right([one], setting, lambda text, more=0: None, forward=forward)
                run_or_raise(Comparison((one,), plan), setting)
            except (CheckError, CrashError) as error:
                if one.kernel.label == base.label:
                    raise
                problems[one.kernel.label] = _reason(error, one.kernel.label)
        show("compared", len(problems))
        timed = tuple(one for one in built if one.kernel.label not in problems)
        first = _time(timed, plan, setting, show, _TICKS, watch)
        confirmed = _confirm(first, timed, plan, setting, show)
    rows = {row.kernel: row for row in first.rows}
    told = zip(tried, kernels, strict=True)
    points = tuple(Point(chosen, one.label, rows.get(one.label), problems.get(one.label, "")) for chosen, one in told)
    return Sweep(base.label, dict(base.params), values, points, rows[base.label], confirmed)


def _values_of(kernel: Kernel, params: Any) -> dict[str, tuple[int | float, ...]]:
    """Look at what is to be tried.

    Raises:
        InputError: a param that the kernel does not have, values that are no numbers, or too many of them.
    """
    given = mapping("params", params, "a dict of lists of numbers by name, {'UNROLL': [1, 2, 4]}")
    has = f"it has {', '.join(kernel.params) or 'none'}"
    if unknown := [name for name in given if name not in kernel.params]:
        hint = did_you_mean(unknown[0], kernel.params)
        raise InputError(f"kernel {kernel.label!r} has no param {shown(unknown[0])}.{hint} I{has[1:]}")
    require(1 <= len(given) <= 2, "params", params, f"one or two of the params of {kernel.label!r} ({has})")
    values = {}
    for name, tried in given.items():
        require(isinstance(tried, list | tuple | range) and tried, f"params[{name!r}]", tried, "a list of numbers")
        found = [number(f"params[{name!r}]: one", value) for value in tried[: MOST_POINTS + 1]]
        values[name] = tuple(dict.fromkeys(found))
    if math.prod(map(len, values.values())) > MOST_POINTS:
        raise InputError(f"params makes more than {MOST_POINTS} points: try fewer values, then others near the best")
    return values


def _build(
    kernels: Sequence[Kernel], setting: Setting, show: Show, followed: bool
) -> tuple[tuple[Built, ...], dict[str, str]]:
    """Build a kernel as it stands and its points; return what was built, and of each of the others why not.

    Raises:
        BuildError: of the kernel as it stands, the first.
    """
    left = {one.label: one for one in kernels}
    problems: dict[str, str] = {}
    while True:
        show(f"building {len(left)} points")
        try:
            return prepare(list(left.values()), setting, followed=followed), problems
        except BuildError as error:
            if error.kernel == kernels[0].label or error.kernel not in left:
                raise
            problems[error.kernel] = _reason(error, error.kernel)
            del left[error.kernel]


@dataclass(frozen=True)
class Comparison(Task):
    """Comparison of a kernel with the reference, at the size and in the direction of a plan."""

    plan: Plan

    def run(self) -> None:
        """Compare.

        Raises:
            CheckError: it is wrong.
        """
        (built,), plan = self.built, self.plan
        (size,) = plan.sizes
        ring = Ring(built.op, size, dtype=plan.dtype, device=built.device)
        auditor = Auditor(built.op, ring, size_text(built.op, size), gradients=plan.directions != ("forward",))
        auditor.before(built.kernel.label, load_built(built))


def _time(
    built: tuple[Built, ...], plan: Plan, setting: Setting, show: Show, ticks: int, watch: Watch | None = None
) -> Timings:
    """Time kernels against the kernel as it stands; this is so many ticks of the whole."""
    total = len(built) + _TICKS_OF_A_CASE
    done = said = 0

    def part(text: str, more: int = 0) -> None:
        nonlocal done, said
        done += more
        show(text, ticks * done // total - said)
        said = ticks * done // total

    return time_built(built, plan, setting, part, watch)


def _confirm(first: Timings, built: tuple[Built, ...], plan: Plan, setting: Setting, show: Show) -> Row | None:
    """Time the fastest a second time, if it seems faster than the kernel as it stands."""
    faster = [row for row in first.rows if row.outcome == "faster"]
    if not faster:
        show("timed", _CONFIRM_TICKS)
        return None
    label = max(faster, key=lambda row: row.speedup).kernel
    pair = tuple(one for one in built if one.kernel.label in (plan.baseline, label))
    second = _time(pair, plan, setting, show, _CONFIRM_TICKS)
    return second.select(kernel=label).rows[0]


def _reason(error: Exception, label: str) -> str:
    """Say what is wrong with a point in a line; of a compiler's error what the compiler said."""
    diagnostics = getattr(error, "diagnostics", ())
    if diagnostics:
        return f"it did not compile: {diagnostics[0].message}"
    line = str(error).partition("\n")[0].removesuffix(" It was not timed.")
    return line.removeprefix(f"'{label}' ").removeprefix(f"{label} ")
