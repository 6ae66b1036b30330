"""Timing of several kernels of one op against each other, in a way that admits noise and refuses wrong kernels.

What is done, and why:

1. Every kernel is checked before it is timed, and the results of timed calls are compared with the reference again.
2. In each round every kernel gives one sample, in random order, so that slow drifts meet all of them alike.
3. A sample is the mean over enough calls to last 200 us; every call has its own, fresh inputs (see `inputs`).
4. Speed-ups are ratios within a round, with an interval (see `stats`); rounds stop when the interval is narrow.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import InputError
from ..registry import Cost, Kernel, Op, registry
from .entrants import (
    Progress,
    Step,
    check_all,
    choose_baseline,
    choose_kernels,
    choose_sizes,
    load_all,
    steps,
    tensor_device,
)
from .timing import machine, sample
from .timing.audit import Auditor
from .timing.inputs import Ring
from .timing.sample import Case, Entrant, no_collection, take_round, warm_up
from .timing.stats import FEWEST, quartiles, ratio
from .timings import DIRECTIONS, Row, Timings

_FEWEST_BEFORE_CLEAR = 16
_AUDITED_SHARE = 1 / 8
_TICKS = 10
_SEED = 2019


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
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
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
        check: run the full `check` of every kernel first. Without it a quick comparison at every size remains.
        progress: function called as `progress(done, total, text)`; None shows a line when it takes over a second,
            False nothing.
        compiler: see `build`; so is `cflags`.

    Returns:
        Timings with one row for each size, direction and kernel.

    Raises:
        CheckError: a kernel is wrong, before or after it was timed; nothing of it is reported.
        InputError: kernels of several ops, or a size, direction, baseline or number that makes no sense.
        KeyboardInterrupt: on Ctrl-C; what was measured until then is in the exception's `timings` (in a notebook
            `sys.last_value.timings`).

    Example:
        >>> t = benchmark(["lltm/python"], [(2, 3, 5)], seconds=0.01, check=False)
        >>> [(row.kernel, row.direction) for row in t.rows]
        [('lltm/python', 'forward'), ('lltm/python', 'backward'), ('lltm/python', 'both')]
    """
    from .load import require_device

    require_device(device)
    chosen = choose_kernels(kernels)
    op = registry.op_of(chosen[0])
    cases = choose_sizes(op, sizes)
    wanted = _directions(op, directions, cases[0], dtype, device)
    against = choose_baseline(chosen, baseline)
    if rounds < 1 or not seconds > 0:
        raise InputError(f"rounds={rounds}, seconds={seconds}: want at least one round and a positive time")
    with steps(
        progress, f"benchmark of {op.name}", len(chosen) * (1 + check) + len(cases) * len(wanted) * _TICKS
    ) as step:
        entrants = load_all(chosen, device, compiler, cflags, step)
        if check:
            check_all(op, entrants, device, compiler, cflags, step)
        timer = _Timer(op, entrants, against, wanted, dtype, device, seconds, rounds, step)
        return timer.run(cases)


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

    def run(self, sizes: Sequence[tuple[int, ...]]) -> Timings:
        try:
            for size in sizes:
                self._size(size)
        except KeyboardInterrupt as interrupt:
            interrupt.timings = Timings(tuple(self.rows), self.baseline)  # type: ignore[attr-defined]
            interrupt.add_note(f"{len(self.rows)} rows were measured until then: they are in this exception's .timings")
            raise
        return Timings(tuple(self.rows), self.baseline)

    def _size(self, size: tuple[int, ...]) -> None:
        place = tensor_device(self.device)
        ring = Ring(self.op, size, dtype=self.dtype, device=place, seed=_SEED)
        where = ", ".join(f"{letter}={number}" for letter, number in self.op.named(size).items())
        auditor = Auditor(self.op, ring, where, gradients=self.directions != ["forward"])
        for entrant in self.entrants:
            self.step(0, f"comparing {entrant.label} with the reference at {where}")
            auditor.before(entrant.label, entrant.function)
        peak = machine.peak(self.dtype, place) if self.op.cost else None
        for direction in self.directions:
            case = Case(ring, auditor, direction, place, self.entrants, self.baseline)
            with no_collection():
                warm_up(case)
                self._rounds(case, f"timing {self.op.name} {direction} at {where}")
            self.rows += [self._row(case, size, entrant, peak) for entrant in self.entrants]

    def _rounds(self, case: Case, text: str) -> None:
        budget = self.seconds * len(self.entrants) / len(self.directions)
        order, start, shown = random.Random(_SEED), sample.clock(), 0
        for number in range(self.rounds):
            # Which rounds are compared with the reference is not known ahead, so a kernel cannot behave for them.
            take_round(case, order, audited=number == 0 or order.random() < _AUDITED_SHARE)
            spent = (sample.clock() - start) / 1e9
            ticks = min(_TICKS - 1, int(_TICKS * max(spent / budget, number / self.rounds)))
            self.step(ticks - shown, f"{text}, round {number + 1}")
            shown = ticks
            if spent > budget and (number + 1 >= FEWEST or spent > 3 * budget):
                break
            if number + 1 >= _FEWEST_BEFORE_CLEAR and number % 8 == 7 and case.is_clear:
                break
        # One more round that is compared and not counted: the kernels cannot tell it from the others.
        take_round(case, order, audited=True, counted=False)
        self.step(_TICKS - shown, text)

    def _row(self, case: Case, size: tuple[int, ...], entrant: Entrant, peak: machine.Peak | None) -> Row:
        samples = case.samples[entrant.label]
        q1, median, q3 = quartiles(samples)
        is_base = entrant.label == self.baseline
        speedup, low, high = (1.0, 1.0, 1.0) if is_base else ratio(case.samples[self.baseline], samples)
        named = self.op.named(size)
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
            **_rates(self.op.cost(self.dtype.itemsize, **named), case.direction, median, peak)
            if self.op.cost and peak
            else {},
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


def _directions(op: Op, directions: Sequence[str], size: Sequence[int], dtype: torch.dtype, device: str) -> list[str]:
    unknown = [direction for direction in directions if direction not in DIRECTIONS]
    if unknown or not directions or isinstance(directions, str):
        raise InputError(f"directions={directions!r}, want some of {', '.join(DIRECTIONS)}")
    has_gradient = bool(Ring(op, size, dtype=dtype, device=tensor_device(device)).names)
    wanted = [
        direction for direction in DIRECTIONS if direction in directions and (has_gradient or direction == "forward")
    ]
    if not wanted:
        raise InputError(f"op {op.name!r} has no input with a gradient: only forward can be timed")
    return wanted
