"""Timing of several kernels of one op against each other, in a way that admits noise and refuses wrong kernels.

What is done, and why:

1. Every kernel is checked before it is timed, and the results of timed calls are compared with the reference again.
2. In each round every kernel gives one sample, in random order, so that slow drifts meet all of them alike.
3. A sample is the mean over enough calls to last 200 µs; every call has its own, fresh inputs (see `inputs`).
4. Speed-ups are ratios within a round, with an interval (see `stats`); rounds stop when the interval is narrow.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import torch

from ..base.progress import Event, Show, emit, say, showing
from ..checking.check import require_right
from ..checking.postmortem import run_or_raise
from ..checking.report import OUTPUT_LINES
from ..errors import CheckError, CrashError, DefinitionError, InputError
from ..model.outcomes import noting
from ..model.registry import Cost, Kernel, Op, registry
from ..run.built import Built, require_device
from ..run.cases.case import dtypes_of, size_text
from ..run.executor import Task, echo, prepare
from ..run.function import Function
from ..run.library import load_all
from ..run.setting import Options, Setting, choose_baseline, choose_kernels, choose_sizes, require_timing, takes
from ..tables.partial import SECONDS_BETWEEN, Pace, Partial, Running, Watch, watch_of
from ..tables.timings import DIRECTIONS, KEPT_SECONDS, Row, Timings
from . import machine, sample
from .audit import Auditor
from .inputs import SEED, Ring
from .sample import Series, no_collection, take_round, warm_up
from .stats import FEWEST, quartiles, ratio

_FEWEST_BEFORE_CLEAR = 16
_AUDITED_SHARE = 1 / 8
#: Steps of progress for a size in one direction.
TICKS = 10
#: In rounds that take longer than this, the few microseconds that a telling adds to the next sample do not matter.
_SETTLED = 10e-3
#: How often a round is told that brings the whole no further.
_SAID_SECONDS = 0.1
#: How long is looked at what other programs do, before anything is timed.
_LOOK_SECONDS = 0.1


@takes(Options)
def benchmark(
    kernels: Sequence[Kernel | str] | Kernel | str,
    sizes: Sequence[Sequence[int] | Mapping[str, int]] | None = None,
    *,
    baseline: Kernel | str | None = None,
    directions: Sequence[str] = DIRECTIONS,
    dtype: torch.dtype = torch.float32,
    seconds: float = KEPT_SECONDS,
    rounds: int = 400,
    check: bool = True,
    watch: Watch | None = None,
    **options: Unpack[Options],
) -> Timings:
    """Time kernels of one op against each other.

    If a kernel is right in forward and has no backward, all kernels are timed forward only.
    Forward runs without autograd. Backward is timed alone, over a graph built outside of the timed region. Both is the two
    in one call. Gradients are taken of the inputs in `op.parameters` (default: all tensors), for random gradients of
    the outputs. The number of PyTorch's threads is not changed.

    Args:
        kernels: labels (`"lltm/fused@2"`) or kernels, all of one op.
        sizes: tuples in the order of the op's letters, or dicts by letter; default: the op's own.
        baseline: what speed-ups are counted against; default: the reference if it is among the kernels, else the first.
        directions: some of `forward`, `backward`, `both`.
        dtype: of the floating-point inputs; the default is the op's own where it does not take float32.
        seconds: to spend on each kernel at each size, about; rounds stop sooner when the answer is clear.
        rounds: at most, for each size and direction; an interval needs 8.
        check: run the full `check` of every kernel first. Without it, only a quick comparison at every size remains, of
            gradients too unless only forward is timed. A kernel from `from_load_inline` without a reference is then compared
            with nothing.
        watch: function called with the `Partial` timings between rounds, at most four times a second. Neither the samples
            nor the end of the rounds depend on it.
        options: of `Setting`, by name.

    Returns:
        Timings with one row for each size, direction and kernel.

    Raises:
        CheckError: a kernel is wrong, before or after it was timed; nothing of it is reported.
        CrashError: a kernel took the worker down; `.timings` has the rows that were measured before. TimeoutError: one
            sample took longer than `limits` allows.
        DefinitionError: the op has no reference, and `check` is not False.
        InputError: kernels of several ops, or a size, direction, baseline or number that makes no sense.
        KeyboardInterrupt: on Ctrl-C; what was measured until then is in the exception's `timings` (in a notebook
            `sys.last_value.timings`).

    Example:
        >>> t = benchmark(["lltm/python"], [(2, 3, 5)], seconds=0.01, check=False)
        >>> [(row.kernel, row.direction) for row in t.rows]
        [('lltm/python', 'forward'), ('lltm/python', 'backward'), ('lltm/python', 'both')]
    """
    setting = Setting.of(benchmark, options)
    device = setting.device
    watch = watch_of(watch)
    require_timing(dtype=dtype, check=check, seconds=seconds, rounds=rounds, directions=directions)
    require_device(device)
    chosen, op = choose_kernels(kernels)
    if op.lacks and (check or not op.benchmark_sizes):
        raise DefinitionError(f"{op.lacks}{'. To time it unchecked: check=False' * bool(op.benchmark_sizes)}")
    cases = tuple(choose_sizes(op, sizes))
    if dtype == torch.float32 and dtype not in dtypes_of(op):
        dtype = dtypes_of(op)[-1]
    wanted = possible_directions(op, directions, cases[0], dtype, device)
    plan = Plan(cases, choose_baseline(chosen, baseline), wanted, dtype, seconds, rounds)
    total = len(chosen) * (1 + check) + len(cases) * len(wanted) * TICKS
    with showing(f"benchmark of {op.name}", setting.progress, total) as show:
        with noting(chosen):
            built = prepare(chosen, replace(setting, progress=show), followed=check)
        with noting(chosen):
            lacking = require_right(built, setting, show, forward=True) if check else []
            if lacking and "forward" not in wanted:
                cure = "it can be timed in forward alone: directions=['forward']"
                raise CheckError(f"'{lacking[0]}' has no backward, so {cure}")
            if lacking:
                plan = replace(plan, directions=("forward",))
            timings = time_built(built, plan, setting, show, watch)
    for kernel in chosen:
        rows = tuple(row for row in timings.rows if row.kernel in (kernel.label, timings.baseline))
        registry.note_timed(kernel, replace(timings, rows=rows))
    return timings


@dataclass(frozen=True)
class Plan:
    """What is measured, and for how long; see `benchmark`. The baseline is a label; `others` is what `Row.others` is to be."""

    sizes: tuple[tuple[int, ...], ...]
    baseline: str
    directions: tuple[str, ...]
    dtype: torch.dtype
    seconds: float
    rounds: int
    others: float = 0.0


def time_built(
    built: tuple[Built, ...], plan: Plan, setting: Setting, show: Show, watch: Watch | None = None
) -> Timings:
    """Time kernels that are built; what was measured before a crash or Ctrl-C is not lost."""
    rows: list[Row] = []
    done = shown = 0
    # The timer keeps the pace; this one only leaves out what has piled up behind a slow watcher, and comes all at once.
    pace = Pace(SECONDS_BETWEEN / 2)

    def on_event(event: Event) -> None:
        nonlocal done, shown
        if event.kind == "begin":  # maybe for the second time, in a new worker
            rows.clear()
            done = 0
        elif event.kind == "progress":
            text, more = event.values
            done += more
            show(text, max(0, done - shown))
            shown = max(shown, done)
        elif event.kind == "rows":
            rows.extend(event.values[0])
        elif event.kind == "partial" and watch is not None and pace.due:  # a slow watcher gets the newest only
            under_way, running = event.values
            watch(Partial((*rows, *under_way), plan.baseline, running))
            pace.told()

    others = machine.crowd()
    time.sleep(_LOOK_SECONDS)
    plan = replace(plan, others=others())
    try:
        result = run_or_raise(Timing(built, plan, watched=watch is not None), setting, on_event)
    except CrashError as error:
        raise error.crash.error(rows) from None
    except KeyboardInterrupt as interrupt:
        interrupt.timings = Timings(tuple(rows), plan.baseline)  # type: ignore[attr-defined]
        interrupt.add_note(f"{len(rows)} rows were measured until then: they are in this exception's .timings")
        raise
    echo(result.output, OUTPUT_LINES)
    return Timings(tuple(rows), plan.baseline)


@dataclass(frozen=True)
class Timing(Task):
    """Timing of kernels.

    Attributes:
        plan: at which sizes, and for how long.
        watched: whether somebody wants to know what comes in between two rounds.
    """

    plan: Plan
    watched: bool = False

    def run(self) -> None:
        """Load the kernels and time them; the rows are told as they are known."""
        emit("begin")
        timer = Timer(load_all(self.built), self.plan, self.watched)
        for size in self.plan.sizes:
            timer.size(size)


class Timer:
    """Runs the cases one after the other, turns samples into rows, and tells of them."""

    def __init__(self, functions: Sequence[Function], plan: Plan, watched: bool = False) -> None:
        self.functions, self.plan, self.watched = functions, plan, watched
        self.op, self.device = functions[0].op, functions[0].device
        self.pace, self._said = Pace(), Pace(_SAID_SECONDS)
        self._unseen = random.Random(SEED)
        self._number = 0

    def size(self, size: tuple[int, ...]) -> None:
        """Compare all kernels with the reference at a size, then time them in each direction."""
        plan = self.plan
        ring = Ring(self.op, size, dtype=plan.dtype, device=self.device)
        where = size_text(self.op, size)
        auditor = Auditor(self.op, ring, where, gradients=plan.directions != ("forward",))
        for function in self.functions:
            say(f"comparing {function.kernel.label} with the reference at {where}")
            auditor.before(function.kernel.label, function)
        peak = machine.peak(plan.dtype, self.device) if self.op.cost else None
        for direction in plan.directions:
            self._number += 1
            series = Series(ring, auditor, direction, self.device, self.functions, plan.baseline)
            rows = partial(self.rows, series, size, peak)
            with no_collection():
                warm_up(series)
                self.rounds(series, f"timing {self.op.name} {direction} at {where}", rows)
            emit("rows", rows())

    def rounds(self, series: Series, text: str, rows: Callable[[], list[Row]]) -> None:
        """Take rounds until the answer is clear or the time is up."""
        plan = self.plan
        budget = plan.seconds * len(self.functions) / len(plan.directions)
        order, spent, shown = random.Random(SEED), 0.0, 0
        for number in range(plan.rounds):
            start = sample.clock()
            # Which rounds are compared with the reference is not known ahead, so a kernel cannot behave for them.
            take_round(series, order, audited=number == 0 or order.random() < _AUDITED_SHARE)
            # What is told between rounds does not count: whoever watches must not change when they end.
            spent += (sample.clock() - start) / 1e9
            ticks = min(TICKS - 1, int(TICKS * max(spent / budget, number / plan.rounds)))
            if ticks > shown or self._said.due:
                say(f"{text}, round {number + 1}", ticks - shown)
                shown = ticks
                self._said.told()
            if spent > budget and (number + 1 >= FEWEST or spent > 3 * budget):
                break
            if number + 1 >= _FEWEST_BEFORE_CLEAR and number % 8 == 7 and series.is_clear:
                break
            if self.watched and self.pace.due:
                under_way = rows()
                emit("partial", under_way, self._running(under_way[0], number + 1, spent, budget))
                if spent < _SETTLED * (number + 1):
                    # A sample right after a telling takes 4 to 10 % longer, one after a round that does not count 1 to 2 %.
                    take_round(series, self._unseen, audited=False, counted=False)
                self.pace.told()
        # One more round that is compared and not counted: the kernels cannot tell it from the others.
        take_round(series, order, audited=True, counted=False)
        say(text, TICKS - shown)

    def _running(self, row: Row, done: int, spent: float, budget: float) -> Running:
        plan = self.plan
        affordable = max(FEWEST, done, math.ceil(done * budget / spent)) if spent else plan.rounds
        cases = len(plan.sizes) * len(plan.directions)
        most = min(plan.rounds, affordable)
        return Running(row.size, row.direction, done, most, spent, budget, self._number, cases)

    def rows(self, series: Series, size: tuple[int, ...], peak: machine.Peak | None) -> list[Row]:
        """Sum up the samples of a series, a row for each kernel."""
        return [self._row(series, size, function, peak) for function in self.functions]

    def _row(self, series: Series, size: tuple[int, ...], function: Function, peak: machine.Peak | None) -> Row:
        label, baseline, dtype = function.kernel.label, self.plan.baseline, self.plan.dtype
        samples = series.samples[label]
        times: dict[str, Any] = dict(zip(("q1", "median", "q3"), quartiles(samples), strict=True))
        against = (1.0, 1.0, 1.0) if label == baseline else ratio(series.samples[baseline], samples)
        speedups: dict[str, Any] = dict(zip(("speedup", "speedup_low", "speedup_high"), against, strict=True))
        cost = self.op.cost_at(dtype.itemsize, size)
        return Row(
            **machine.columns(function, size, dtype),
            direction=series.direction,
            **times,
            samples=len(samples),
            calls=series.calls[label],
            **speedups,
            **_rates(cost, series.direction, times["median"], peak) if cost and peak else {},
            flags=function.build.flags if function.build else (),
            compiler=function.build.compiler if function.build else "",
            others=self.plan.others,
        )


def _rates(cost: Cost, direction: str, seconds: float, peak: machine.Peak) -> dict[str, Any]:
    """Turn declared bytes and operations into rates and the share of this machine's own speed."""
    parts = ("forward", "backward") if direction == "both" else (direction,)
    bytes_, flops = (sum(getattr(cost, f"{part}_{what}") for part in parts) / seconds for what in ("bytes", "flops"))
    share, bound = max((bytes_ / peak.copy, "copy"), (flops / peak.gemm, "GEMM"))
    return {"gb_per_s": bytes_ / 1e9, "gflop_per_s": flops / 1e9, "share": share, "bound_by": bound}


def possible_directions(
    op: Op, directions: Sequence[str], size: Sequence[int], dtype: torch.dtype, device: str
) -> tuple[str, ...]:
    """Keep the directions in which an op can be timed.

    Raises:
        InputError: none of them is.
    """
    has_gradient = bool(Ring(op, size, dtype=dtype, device=device).names)
    wanted = tuple(one for one in DIRECTIONS if one in directions and (has_gradient or one == "forward"))
    if not wanted:
        raise InputError(f"op {op.name!r} has no input with a gradient: only forward can be timed")
    return wanted
