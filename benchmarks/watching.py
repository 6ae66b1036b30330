"""What it costs a benchmark to be watched.

A benchmark tells whoever watches four times a second, between two rounds, and does not count the round after that. Here the
worker tells before one of every two rounds, a coin says which, and the samples of the two are compared: what telling does to
a sample, with nothing else between the two. Four ways: the caller's process does nothing with what it is told; it draws the live
figure of a notebook each time; nothing is told, which must give 1; and, to see that this measurement would show a disturbance,
the round after the telling counts. The ratio has the benchmark's own 99 % interval.

Beside it what one drawing costs: the live figure, and `li.plot` as a PNG, which is why the live figure is no such picture.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from common import Results, arguments, li

from lltm_inline.base.progress import Event, listening
from lltm_inline.checking.postmortem import run_or_raise
from lltm_inline.measure.audit import Auditor
from lltm_inline.measure.benchmark import Plan, Timer
from lltm_inline.measure.inputs import Ring
from lltm_inline.measure.sample import Series, no_collection, warm_up
from lltm_inline.measure.stats import ratio
from lltm_inline.notebook.live import live_html
from lltm_inline.run.executor import Task, prepare
from lltm_inline.run.library import load_all
from lltm_inline.run.setting import Setting
from lltm_inline.tables.partial import Pace, Partial


@dataclass(frozen=True)
class Way:
    """What happens when something could be told.

    Attributes:
        draw: what the caller's process does with it.
        tells: whether it is told.
        settles: whether the round after it is left out.
    """

    draw: Callable[[Partial], Any] = lambda timings: None
    tells: bool = True
    settles: bool = True


WAYS = {
    "told": Way(),
    "told and drawn": Way(live_html),
    "nothing told": Way(tells=False, settles=False),
    "told, and the next round counts": Way(settles=False),
}
#: Of the samples in their order every so many are kept in the file: the same quartiles, and a tenth of the size.
_KEPT = 10
KERNELS, SIZE = ("lltm/fused", "lltm/stable"), (16, 32, 128)


class OneOfTwo(Pace):
    """Lets a benchmark tell before one of every two rounds.

    Attributes:
        firsts: for each pair of rounds after round 0, whether it was before the first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.firsts: list[bool] = []
        self._coin, self._round = random.Random(7), -1

    @property
    def due(self) -> bool:
        self._round += 1
        if self._round % 2 == 0:
            self.firsts.append(self._coin.random() < 0.5)
            return self.firsts[-1]
        return not self.firsts[-1]


@dataclass(frozen=True)
class Pairs(Task):
    """Timing of kernels at one size.

    Attributes:
        plan: the size, the kernels' baseline, and how many rounds.
        tells, settles: as of `Way`.
    """

    plan: Plan
    tells: bool
    settles: bool

    def run(self) -> list[tuple[float, float]]:
        """Time as the worker does; return pairs of samples, that right after a telling first."""
        functions, plan = load_all(self.built), self.plan
        op, (size,) = functions[0].op, plan.sizes
        ring = Ring(op, size, dtype=plan.dtype, device="cpu")
        series = Series(ring, Auditor(op, ring, "", gradients=True), "both", "cpu", functions, plan.baseline)
        timer = Timer(functions, plan, watched=True)
        timer.pace = pace = OneOfTwo()
        never_clear(series)
        if not self.settles:
            timer.settle = lambda series: None  # type: ignore[method-assign]
        rows: list[Any] = []

        def rows_now() -> list[Any]:
            if self.tells or not rows:  # what is not told is not made either
                rows[:] = timer.rows(series, size, None)
            return rows

        with no_collection(), nullcontext() if self.tells else listening(lambda event: None):
            warm_up(series)
            timer.rounds(series, "", rows_now)
        pairs = []
        for samples in series.samples.values():
            for first, one, two in zip(pace.firsts, samples[1::2], samples[2::2], strict=False):
                pairs.append((one, two) if first else (two, one))
        return pairs


def never_clear(series: Series) -> None:
    """Let rounds go on to the limit."""
    series.__class__ = type("Endless", (Series,), {"is_clear": False})


def after_telling(way: Way, rounds: int) -> tuple[list[float], list[float]]:
    """Return the samples right after a telling, and their neighbours."""
    setting = Setting(progress=False)
    built = prepare([li.registry[label] for label in KERNELS], setting)
    plan = Plan((SIZE,), KERNELS[0], ("both",), torch.float32, 10.0, rounds)

    def on_event(event: Event) -> None:
        if event.kind == "partial":
            way.draw(Partial(tuple(event.values[0]), KERNELS[0], event.values[1]))

    found = run_or_raise(Pairs(built, plan, way.tells, way.settles), setting, on_event).value
    return [after for after, _ in found], [other for _, other in found]


def main() -> None:
    """Measure with one thread and with all, then the drawings."""
    quick = arguments(__doc__).quick
    results = Results("watching", quick)
    every = torch.get_num_threads()
    intervals = results.more.setdefault("intervals", {})
    for threads in dict.fromkeys((1, every)):
        torch.set_num_threads(threads)
        for name, way in WAYS.items():
            where = f"{name}, {threads} thread{'s' * (threads != 1)}"
            after, other = after_telling(way, 101 if quick else 2001)
            results.add(f"after a telling: {where}", *sorted(after)[::_KEPT])
            results.add(f"beside it: {where}", *sorted(other)[::_KEPT])
            intervals[where] = ratio(after, other)
            results.note(f"a sample after a telling over the one beside it: {where}", intervals[where][0])
    torch.set_num_threads(every)
    drawings(results, 5 if quick else 40)
    results.save()
    for where, (middle, low, high) in intervals.items():
        print(f"  {where}: {middle:.4f} ({low:.4f} to {high:.4f})")


def drawings(results: Results, count: int) -> None:
    """Time the ways to draw, over timings of two kernels in three directions."""
    timings = li.benchmark(list(KERNELS), [SIZE], seconds=0.1, check=False, progress=False)
    for name, draw in (("live figure", live_html), ("li.plot as PNG", lambda t: li.plot(t)._repr_png_())):
        draw(timings)
        for _ in range(count):
            started = time.perf_counter()
            draw(timings)
            results.add(name, time.perf_counter() - started)
    results.compare("live figure over li.plot as PNG", "live figure", "li.plot as PNG", 0.1)


if __name__ == "__main__":
    main()
