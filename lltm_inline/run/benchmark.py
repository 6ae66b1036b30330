"""Timing of several kernels of one op against each other, in a way that admits noise and refuses wrong kernels.

What is done, and why:

1. Every kernel is checked before it is timed, and the results of timed calls are compared with the reference again.
2. In each round every kernel gives one sample, in random order, so that slow drifts meet all of them alike.
3. A sample is the mean over enough calls to last 200 us; every call has its own, fresh inputs (see `inputs`).
4. Speed-ups are ratios within a round, with an interval (see `stats`); rounds stop when the interval is narrow.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from ..errors import CheckError, InputError
from ..progress import showing
from ..registry import Cost, Kernel, Op, registry
from .timing import machine, sample
from .timing.audit import Auditor
from .timing.inputs import Ring
from .timing.sample import Case, Entrant, no_collection, take_round, warm_up
from .timing.stats import FEWEST, quartiles, ratio
from .timings import DIRECTIONS, Row, Timings

#: Called as `progress(done, total, text)`; `done` only grows and ends at `total`.
Progress = Callable[[int, int, str], None]

_Step = Callable[[int, str], None]

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
        device: `cpu`, `cuda` or `cuda-cpu`.
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
    from .load import require_cpu

    require_cpu(device)
    chosen = _kernels(kernels)
    op = registry.op_of(chosen[0])
    cases = _sizes(op, sizes)
    wanted = _directions(op, directions, cases[0], dtype, device)
    against = _baseline(chosen, baseline)
    if rounds < 1 or not seconds > 0:
        raise InputError(f"rounds={rounds}, seconds={seconds}: want at least one round and a positive time")
    with _steps(progress, op, len(chosen) * (1 + check) + len(cases) * len(wanted) * _TICKS) as step:
        entrants = _load(chosen, device, compiler, cflags, step)
        if check:
            _check_all(op, entrants, device, compiler, cflags, step)
        timer = _Timer(op, entrants, against, wanted, dtype, device, seconds, rounds, step)
        return timer.run(cases)


def _load(
    kernels: Sequence[Kernel], device: str, compiler: str | None, cflags: Sequence[str] | None, step: _Step
) -> list[Entrant]:
    """Build what has a source text, all of it in parallel, and load everything."""
    from ..build.compiler import build
    from .load import load

    say = partial(step, 0)
    sources = [kernel for kernel in kernels if kernel.python is None]
    if len(sources) > 1:
        build(sources, compiler=compiler, cflags=cflags, progress=say)
    entrants = []
    for kernel in kernels:
        function = load(kernel, device=device, compiler=compiler, cflags=cflags, progress=say)
        built = function.build
        entrants.append(Entrant(kernel, function, built.flags if built else (), built.compiler if built else ""))
        step(1, f"loaded {kernel.label}")
    return entrants


def _check_all(
    op: Op, entrants: Sequence[Entrant], device: str, compiler: str | None, cflags: Sequence[str] | None, step: _Step
) -> None:
    """Run the full check on every kernel but the reference itself."""
    from .check import check

    for entrant in entrants:
        if entrant.kernel.python is not op.reference:
            say = partial(step, 0)
            report = check(entrant.kernel, device=device, compiler=compiler, cflags=cflags, progress=say)
            if not report.ok:
                raise CheckError(f"{report.headline}\nIt was not timed. The whole report: e.report", report=report)
        step(1, f"checked {entrant.label}")


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
    step: _Step
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
        place = _tensor_device(self.device)
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


@contextmanager
def _steps(progress: Progress | bool | None, op: Op, total: int) -> Iterator[_Step]:
    """Yield `step(more, text)`, which tells the caller's function, or a line on the screen, how far we are."""
    done = 0
    own = progress if callable(progress) else None
    with showing(f"benchmark of {op.name}", False if own else bool(progress is not False)) as show:

        def step(more: int, text: str) -> None:
            nonlocal done
            done += more
            if own is not None:
                own(done, total, text)
            else:
                show(f"{text} ({done / total:.0%})")

        yield step


def _kernels(kernels: Sequence[Kernel | str] | Kernel | str) -> list[Kernel]:
    given = [kernels] if isinstance(kernels, Kernel | str) else list(kernels)
    chosen = [registry[kernel] if isinstance(kernel, str) else kernel for kernel in given]
    if not chosen:
        raise InputError("no kernel to time: give one or more labels, such as ['lltm/python', 'lltm/fused']")
    labels = [kernel.label for kernel in chosen]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is given twice; each kernel is timed once")
    if len({kernel.op for kernel in chosen}) > 1:
        raise InputError(f"kernels of several ops cannot be compared: {', '.join(labels)}")
    return chosen


def _sizes(op: Op, sizes: Sequence[Sequence[int] | Mapping[str, int]] | None) -> list[tuple[int, ...]]:
    given = list(op.benchmark_sizes if sizes is None else sizes)
    if not given:
        raise InputError(
            f"op {op.name!r} has no benchmark sizes: give sizes=[...], numbers for ({', '.join(op.letters)})"
        )
    found = []
    for size in given:
        if isinstance(size, Mapping):
            if set(size) != set(op.letters):
                raise InputError(f"size {dict(size)} names {', '.join(size)}, want {', '.join(op.letters)}")
            size = tuple(size[letter] for letter in op.letters)
        if not isinstance(size, Sequence) or isinstance(size, str):
            raise InputError(f"sizes is a list of sizes, such as [(16, 32, 128)]; got {size!r} in it")
        op.named(size)
        found.append(tuple(size))
    return list(dict.fromkeys(found))


def _directions(op: Op, directions: Sequence[str], size: Sequence[int], dtype: torch.dtype, device: str) -> list[str]:
    unknown = [direction for direction in directions if direction not in DIRECTIONS]
    if unknown or not directions or isinstance(directions, str):
        raise InputError(f"directions={directions!r}, want some of {', '.join(DIRECTIONS)}")
    has_gradient = bool(Ring(op, size, dtype=dtype, device=_tensor_device(device)).names)
    wanted = [
        direction for direction in DIRECTIONS if direction in directions and (has_gradient or direction == "forward")
    ]
    if not wanted:
        raise InputError(f"op {op.name!r} has no input with a gradient: only forward can be timed")
    return wanted


def _baseline(kernels: Sequence[Kernel], baseline: Kernel | str | None) -> str:
    labels = [kernel.label for kernel in kernels]
    if baseline is None:
        reference = f"{kernels[0].op}/python"
        return reference if reference in labels else labels[0]
    label = baseline if isinstance(baseline, str) else baseline.label
    if label not in labels:
        raise InputError(f"baseline {label!r} is not among the kernels: {', '.join(labels)}")
    return label


def _tensor_device(device: str) -> str:
    return "cpu" if device == "cuda-cpu" else device
