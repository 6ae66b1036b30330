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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from ..arguments import require_choices
from ..errors import CrashError, InputError
from ..registry import Cost, Kernel, Op, registry
from ..told import building
from .entrants import (
    Progress,
    Step,
    check_all,
    choose_baseline,
    choose_kernels,
    load_all,
    relay,
    require_timing,
    steps,
    tensor_device,
)
from .isolated import Prepared, ask, echo, prepare
from .partial import SECONDS_BETWEEN, Pace, Partial, Running, Tell, Watch, watch_of
from .sizes import choose_sizes
from .timing import machine, sample
from .timing.audit import Auditor
from .timing.inputs import Ring
from .timing.sample import Case, Entrant, no_collection, take_round, warm_up
from .timing.stats import FEWEST, quartiles, ratio
from .timings import DIRECTIONS, Row, Timings
from .worker import steps as worker_steps
from .worker.limits import Limits, require_limits

_FEWEST_BEFORE_CLEAR = 16
_AUDITED_SHARE = 1 / 8
_TICKS = 10
_SEED = 2019
#: In rounds that take longer than this, the few microseconds that a telling adds to the next sample do not matter.
_SETTLED = 10e-3


def benchmark(
    kernels: Sequence[Kernel | str] | Kernel | str,
    sizes: Sequence[Sequence[int] | Mapping[str, int]] | None = None,
    *,
    baseline: Kernel | str | None = None,
    directions: Sequence[str] = DIRECTIONS,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    seconds: float = 1.0,
    rounds: int = 400,
    check: bool = True,
    progress: Progress | bool | None = None,
    watch: Watch | None = None,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    trust: bool = False,
    limits: Limits | None = None,
) -> Timings:
    """Time kernels of one op against each other.

    Forward runs without autograd; backward is timed alone, over a graph built outside of the timed region; both is the
    two in one go. Gradients are taken of the inputs in `op.parameters` (default: all tensors), for random gradients of
    the outputs. The number of PyTorch's threads is left as it is.

    Args:
        kernels: labels (`"lltm/fused@2"`) or kernels, all of one op.
        sizes: tuples in the order of the op's letters, or dicts by letter; default: the op's own.
        baseline: what speed-ups are counted against; default: the reference if it is among the kernels, else the first.
        directions: some of `forward`, `backward`, `both`.
        dtype: of the floating-point inputs.
        device: `cpu` or `cuda`.
        seconds: to spend on each kernel at each size, about; rounds stop sooner when the answer is clear.
        rounds: at most, for each size and direction; an interval needs 8.
        check: run the full `check` of every kernel first. Without it a quick comparison at every size remains, of gradients
            where other directions than forward are timed.
        progress: function called as `progress(done, total, text)`; None shows a line when it takes over a second,
            False nothing.
        watch: function called with the `Partial` timings between rounds, at most four times a second. Neither the samples
            nor the end of the rounds depend on it.
        compiler: see `build`; so is `cflags`.
        trust: run the kernels in this process and not in the worker.
        limits: of time for one sample, memory and output in the worker.

    Returns:
        Timings with one row for each size, direction and kernel.

    Raises:
        CheckError: a kernel is wrong, before or after it was timed; nothing of it is reported.
        CrashError: a kernel took the worker down; `.timings` has the rows that were measured until then. TimeoutError: one
            sample took longer than `limits` allow.
        InputError: kernels of several ops, or a size, direction, baseline or number that makes no sense.
        KeyboardInterrupt: on Ctrl-C; what was measured until then is in the exception's `timings` (in a notebook
            `sys.last_value.timings`).

    Example:
        >>> t = benchmark(["lltm/python"], [(2, 3, 5)], seconds=0.01, check=False)
        >>> [(row.kernel, row.direction) for row in t.rows]
        [('lltm/python', 'forward'), ('lltm/python', 'backward'), ('lltm/python', 'both')]
    """
    from .load import require_device

    require_choices(device=device, compiler=compiler, cflags=cflags, progress=progress, trust=trust)
    require_limits(limits)
    watch = watch_of(watch)
    require_timing(dtype=dtype, check=check, seconds=seconds, rounds=rounds, directions=directions)
    require_device(device)
    chosen = choose_kernels(kernels)
    op = registry.op_of(chosen[0])
    cases = choose_sizes(op, sizes)
    wanted = possible_directions(op, directions, cases[0], dtype, device)
    against = choose_baseline(chosen, baseline)
    with steps(
        progress, f"benchmark of {op.name}", len(chosen) * (1 + check) + len(cases) * len(wanted) * _TICKS
    ) as step:
        task = _Task(
            *(tuple(chosen), tuple(cases), against, tuple(wanted), dtype, device, seconds, rounds, compiler, cflags),
            watched=watch is not None,
        )
        here = trust or worker_steps.in_worker()
        with building(() if here else chosen):
            prepared = None if here else prepare(chosen, device, compiler, cflags, partial(step, 0))
        if check:
            check_all(op, chosen, device, compiler, cflags, step, trust=trust, limits=limits)
        if prepared is None:
            return time_here(task, step, watch)
        return _time_in_worker(task, prepared, limits, step, watch)


@dataclass(frozen=True)
class _Task:
    """What is to be timed."""

    kernels: tuple[Kernel, ...]
    sizes: tuple[tuple[int, ...], ...]
    baseline: str
    directions: tuple[str, ...]
    dtype: torch.dtype
    device: str
    seconds: float
    rounds: int
    compiler: str | None
    cflags: Sequence[str] | None
    watched: bool = False


def time_here(task: _Task, step: Step | None = None, watch: Watch | None = None) -> Timings:
    """Time kernels in this process; in the worker without `step`: the caller's process is told."""
    worker_steps.tell("begin")
    tell = partial(worker_steps.tell, "partial") if step is None and task.watched else None
    step = step or relay()
    entrants = load_all(task.kernels, task.device, task.compiler, task.cflags, step)
    op = registry.op_of(task.kernels[0])
    timer = _Timer(
        *(op, entrants, task.baseline, task.directions, task.dtype, task.device, task.seconds, task.rounds, step)
    )
    timer.tell = tell if watch is None else _assemble(watch, timer.rows, task.baseline)
    return timer.run(task.sizes)


def _assemble(watch: Watch, rows: Sequence[Row], baseline: str) -> Tell:
    """Return what calls a watcher with the finished rows and those of the case under way."""
    return lambda under_way, running: watch(Partial((*rows, *under_way), baseline, running))


def _time_in_worker(task: _Task, prepared: Prepared, limits: Limits | None, step: Step, watch: Watch | None) -> Timings:
    """Time kernels in the worker; what was measured before a crash or Ctrl-C is not lost."""
    rows: list[Row] = []
    done = told = 0
    tell = None if watch is None else _assemble(watch, rows, task.baseline)
    # The worker keeps the pace; this one only leaves out what has piled up behind a slow watcher, and comes all at once.
    pace = Pace(SECONDS_BETWEEN / 2)

    def on_event(event: worker_steps.Event) -> None:
        nonlocal done, told
        if event.kind == "begin":  # maybe for the second time, in a new worker
            rows.clear()
            done = 0
        elif event.kind == "step":
            done += event.values[0]
            step(max(0, done - told), event.values[1])
            told = max(told, done)
        elif event.kind == "rows":
            rows.extend(event.values[0])
        elif event.kind == "partial" and tell is not None and pace.due:  # a slow watcher gets the newest only
            tell(*event.values)
            pace.told()

    try:
        result = ask(
            *(time_here, task),
            kernels=task.kernels,
            device=task.device,
            limits=limits,
            prepared=prepared,
            on_event=on_event,
        )
    except CrashError as error:
        raise error.crash.error(rows) from None
    except KeyboardInterrupt as interrupt:
        _keep(interrupt, rows, task.baseline)
        raise
    echo(result.output)
    return result.value


def _keep(interrupt: KeyboardInterrupt, rows: Sequence[Row], baseline: str) -> None:
    """Attach what was measured to an interrupt."""
    interrupt.timings = Timings(tuple(rows), baseline)  # type: ignore[attr-defined]
    if not any("in this exception's .timings" in note for note in getattr(interrupt, "__notes__", ())):
        interrupt.add_note(f"{len(rows)} rows were measured until then: they are in this exception's .timings")


@dataclass
class _Timer:
    """Runs the cases one after the other and turns samples into rows."""

    op: Op
    entrants: Sequence[Entrant]
    baseline: str
    directions: Sequence[str]
    dtype: torch.dtype
    device: str
    seconds: float
    rounds: int
    step: Step
    rows: list[Row] = field(default_factory=list)
    tell: Tell | None = None
    pace: Pace = field(default_factory=Pace)
    unseen: random.Random = field(default_factory=lambda: random.Random(_SEED))
    cases: int = 0

    def run(self, sizes: Sequence[tuple[int, ...]]) -> Timings:
        try:
            self.cases = len(sizes) * len(self.directions)
            for size in sizes:
                self._size(size)
        except KeyboardInterrupt as interrupt:
            _keep(interrupt, self.rows, self.baseline)
            raise
        return Timings(tuple(self.rows), self.baseline)

    def _size(self, size: tuple[int, ...]) -> None:
        place = tensor_device(self.device)
        ring = Ring(self.op, size, dtype=self.dtype, device=place, seed=_SEED)
        where = ", ".join(f"{letter}={number}" for letter, number in self.op.named(size).items())
        auditor = Auditor(self.op, ring, where, gradients=tuple(self.directions) != ("forward",))
        for entrant in self.entrants:
            self.step(0, f"comparing {entrant.label} with the reference at {where}")
            auditor.before(entrant.label, entrant.function)
        peak = machine.peak(self.dtype, place) if self.op.cost else None
        for direction in self.directions:
            case = Case(ring, auditor, direction, place, self.entrants, self.baseline)
            with no_collection():
                warm_up(case)
                self._rounds(
                    case, f"timing {self.op.name} {direction} at {where}", partial(self._rows, case, size, peak)
                )
            rows = self._rows(case, size, peak)
            worker_steps.tell("rows", rows)
            self.rows += rows

    def _rounds(self, case: Case, text: str, rows: Callable[[], list[Row]]) -> None:
        budget = self.seconds * len(self.entrants) / len(self.directions)
        order, spent, shown = random.Random(_SEED), 0.0, 0
        for number in range(self.rounds):
            start = sample.clock()
            # Which rounds are compared with the reference is not known ahead, so a kernel cannot behave for them.
            take_round(case, order, audited=number == 0 or order.random() < _AUDITED_SHARE)
            # What is told between rounds does not count: whoever watches must not change when they end.
            spent += (sample.clock() - start) / 1e9
            ticks = min(_TICKS - 1, int(_TICKS * max(spent / budget, number / self.rounds)))
            self.step(ticks - shown, f"{text}, round {number + 1}")
            shown = ticks
            if spent > budget and (number + 1 >= FEWEST or spent > 3 * budget):
                break
            if number + 1 >= _FEWEST_BEFORE_CLEAR and number % 8 == 7 and case.is_clear:
                break
            if self.tell is not None and self.pace.due:
                under_way = rows()
                self.tell(under_way, self._running(under_way[0], number + 1, spent, budget))
                if spent < _SETTLED * (number + 1):
                    self.settle(case)
                self.pace.told()
        # One more round that is compared and not counted: the kernels cannot tell it from the others.
        take_round(case, order, audited=True, counted=False)
        self.step(_TICKS - shown, text)

    def settle(self, case: Case) -> None:
        """Take a round that does not count: a sample right after a telling takes 4 to 10 % longer, one after such a round 1 to 2 %."""
        take_round(case, self.unseen, audited=False, counted=False)

    def _running(self, row: Row, done: int, spent: float, budget: float) -> Running:
        affordable = max(FEWEST, done, math.ceil(done * budget / spent)) if spent else self.rounds
        number = len(self.rows) // len(self.entrants) + 1
        most = min(self.rounds, affordable)
        return Running(row.size, row.direction, done, most, spent, budget, number, self.cases)

    def _rows(self, case: Case, size: tuple[int, ...], peak: machine.Peak | None) -> list[Row]:
        return [self._row(case, size, entrant, peak) for entrant in self.entrants]

    def _row(self, case: Case, size: tuple[int, ...], entrant: Entrant, peak: machine.Peak | None) -> Row:
        samples = case.samples[entrant.label]
        q1, median, q3 = quartiles(samples)
        is_base = entrant.label == self.baseline
        speedup, low, high = (1.0, 1.0, 1.0) if is_base else ratio(case.samples[self.baseline], samples)
        named = self.op.named(size)
        cost = self.op.cost_at(self.dtype.itemsize, size)
        here = machine.machine(self.device)
        return Row(
            kernel=entrant.label,
            op=self.op.name,
            size=named,
            direction=case.direction,
            dtype=str(self.dtype).removeprefix("torch."),
            device=self.device,
            median=median,
            q1=q1,
            q3=q3,
            samples=len(samples),
            calls=case.calls[entrant.label],
            speedup=speedup,
            speedup_low=low,
            speedup_high=high,
            **_rates(cost, case.direction, median, peak) if cost and peak else {},
            flags=entrant.flags,
            threads=here.threads,
            torch=here.torch,
            compiler=entrant.compiler,
            cpu=here.cpu,
        )


def _rates(cost: Cost, direction: str, seconds: float, peak: machine.Peak) -> dict[str, Any]:
    """Turn declared bytes and operations into rates and the share of this machine's own speed."""
    parts = ("forward", "backward") if direction == "both" else (direction,)
    bytes_, flops = (sum(getattr(cost, f"{part}_{what}") for part in parts) / seconds for what in ("bytes", "flops"))
    share, bound = max((bytes_ / peak.copy, "copy"), (flops / peak.gemm, "GEMM"))
    return {"gb_per_s": bytes_ / 1e9, "gflop_per_s": flops / 1e9, "share": share, "bound_by": bound}


def possible_directions(
    op: Op, directions: Sequence[str], size: Sequence[int], dtype: torch.dtype, device: str
) -> list[str]:
    """Keep the directions in which an op can be timed.

    Raises:
        InputError: none of them is.
    """
    has_gradient = bool(Ring(op, size, dtype=dtype, device=tensor_device(device)).names)
    wanted = [
        direction for direction in DIRECTIONS if direction in directions and (has_gradient or direction == "forward")
    ]
    if not wanted:
        raise InputError(f"op {op.name!r} has no input with a gradient: only forward can be timed")
    return wanted
