"""A benchmark that is watched: what is told, when, and that it changes nothing."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lltm_inline.errors import InputError
from lltm_inline.measure import benchmark as benchmark_module
from lltm_inline.measure.benchmark import benchmark
from lltm_inline.model.registry import Kernel
from lltm_inline.tables import partial
from lltm_inline.tables.partial import Pace, Partial, Running
from lltm_inline.tables.timings import DIRECTIONS, Row, Timings
from tests.run import test_benchmark as planted
from tests.run.test_benchmark import SIZES, FakeClock, paced, reference, run

pytestmark = pytest.mark.full

clock = planted.clock
PACED = {"one": 100, "two": 101}


@pytest.fixture
def _always_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a watcher be told after every round."""
    monkeypatch.setattr(Pace, "due", True)


def kernels(clock: FakeClock) -> list[Kernel | str]:
    """Make two right kernels whose times differ by a hundredth."""
    return [paced(name, clock, time) for name, time in PACED.items()]


def watched(clock: FakeClock, **changes: Any) -> tuple[list[Partial], Timings]:
    """Benchmark the two kernels; return what was told, and the result."""
    told: list[Partial] = []
    return told, run(kernels(clock), **{"watch": told.append, **changes})


@pytest.mark.usefixtures("_always_due")
@pytest.mark.parametrize("times", [(100, 100), (100, 300), (20_000, 20_000)], ids=["same", "clear", "slow"])
def test_watching_changes_no_sample_no_order_and_no_end(clock, times):
    """Every number of every row is the same with a watcher as without, also of one that takes a second each time."""
    counted: list[list[str]] = []
    real = planted.sample.take_round

    def spied(case: Any, order: random.Random, **how: Any) -> None:
        turns = [one.kernel.label for one in random.Random.sample(copied(order), case.functions, len(case.functions))]
        counted[-1] += turns if how.get("counted", True) else []
        real(case, order, **how)

    def slow(_: Partial) -> None:
        clock.now += int(1e9)

    clock.spend = lambda microseconds: setattr(clock, "now", clock.now + int(1000 * microseconds))  # type: ignore[method-assign]
    patch = pytest.MonkeyPatch()
    patch.setattr(benchmark_module, "take_round", spied)
    found = []
    for watch in (None, slow):
        counted.append([])
        pair = [paced(name, clock, time) for name, time in zip(PACED, times, strict=True)]
        found.append(run(pair, watch=watch, seconds=0.5, sizes=[(3, 17)]))
    patch.undo()
    assert found[0].rows == found[1].rows and counted[0] == counted[1] and len(counted[0]) > 16


def copied(order: random.Random) -> random.Random:
    """Copy a source of random numbers, so that looking ahead does not change it."""
    copy = random.Random()
    copy.setstate(order.getstate())
    return copy


@pytest.mark.usefixtures("_always_due")
def test_the_round_after_a_telling_does_not_count(clock):
    """Its samples are taken and thrown away, unless rounds are so long that it would make no difference."""
    for time, extra in ((100, True), (20_000, False)):
        calls = 0

        def spy(x: torch.Tensor, w: torch.Tensor, time: int = time) -> tuple[torch.Tensor, torch.Tensor]:
            nonlocal calls
            calls += 1
            clock.spend(time)
            return reference(x, w)

        options: dict[str, Any] = {"sizes": [(3, 17)], "directions": ["forward"], "rounds": 20, "seconds": 10.0}
        without = run([Kernel("timed/spy", python=spy)], **options)
        before, calls = calls, 0
        told: list[Partial] = []
        with_watcher = run([Kernel("timed/spy", python=spy)], watch=told.append, **options)
        assert without.rows[0].samples == with_watcher.rows[0].samples == 20
        assert (calls > 1.5 * before) is extra and len(told) == 20


@pytest.mark.usefixtures("_always_due")
def test_what_is_told_are_whole_rounds_and_all_rows_so_far(clock):
    """Each telling has the finished cases and the one under way, in which every kernel has as many samples as rounds."""
    told, timings = watched(clock)
    assert type(timings) is Timings and len(timings.rows) == 12
    cases = [(size, direction) for size in SIZES for direction in DIRECTIONS]
    for one in told:
        at = one.running
        assert at is not None and one.baseline == "timed/one"
        assert (tuple(at.size.values()), at.direction) == cases[at.case - 1] and at.cases == 6
        assert len(one.rows) == 2 * at.case
        under_way = [row for row in one.rows if one.under_way(row)]
        assert [row.kernel for row in under_way] == ["timed/one", "timed/two"]
        assert {row.samples for row in under_way} == {at.round} and at.round <= at.rounds <= 60
        assert [row for row in one.rows if not one.under_way(row)] == list(timings.rows[: len(one.rows) - 2])
    shares = [one.running.share for one in told if one.running]
    assert shares == sorted(shares) and 0 < shares[0] < shares[-1] <= 1


@pytest.mark.usefixtures("_always_due")
def test_the_interval_shrinks_until_the_end(clock):
    """What is told before eight rounds has no interval, and the last interval is far narrower than the widest."""
    noise = random.Random(3)
    clock.spend = lambda time: setattr(clock, "now", clock.now + int(1000 * time * noise.uniform(0.7, 1.3)))  # type: ignore[method-assign]
    told, _ = watched(clock, sizes=[(3, 17)], directions=["forward"])
    widths = [one.rows[1].speedup_high - one.rows[1].speedup_low for one in told if one.rows[1].speedup_high]
    assert len(widths) > 8 and widths[-1] < 0.6 * max(widths)
    assert all(one.rows[1].speedup_low is None for one in told[:7])


def test_telling_keeps_its_pace(clock, monkeypatch):
    """At once, and then a quarter of a second after the last telling has ended, on whatever clock."""
    now = 100.0
    monkeypatch.setattr(partial, "time", SimpleNamespace(monotonic=lambda: now))
    pace = Pace()
    assert pace.due
    pace.told()
    for passed, due in ((0.24, False), (0.26, True)):
        now = 100.0 + passed
        assert pace.due is due
    told, timings = watched(clock)  # in which no time passes
    assert len(told) == 1 and len(timings.rows) == 12


@pytest.mark.parametrize("watch", [3, "x", int, [print], True])
def test_a_watcher_that_is_no_function_is_refused(clock, watch):
    """Before anything is timed, and by name."""
    with pytest.raises(
        InputError, match=r"^watch=.*, want a function that is called with the timings so far, or None$"
    ):
        run(kernels(clock), watch=watch)


@pytest.mark.usefixtures("_always_due")
def test_ctrl_c_in_a_watcher_keeps_finished_rows(clock):
    """A watcher that is interrupted, or that raises, ends the benchmark as anything else does."""

    def stop(timings: Partial) -> None:
        if timings.running and timings.running.case == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        watched(clock, watch=stop)
    assert [row.direction for row in caught.value.timings.rows] == ["forward"] * 2  # type: ignore[attr-defined]
    with pytest.raises(ZeroDivisionError):
        watched(clock, watch=lambda timings: 1 // 0)


def test_the_worker_tells_between_rounds(tiny):
    """What the worker tells arrives here, in the thread that called, and an error of the watcher leaves a working worker."""
    told: list[Partial] = []
    options: dict[str, Any] = {"seconds": 0.01, "check": False, "progress": False}
    timings = benchmark(["tiny/python"], [(3,), (5,)], watch=told.append, **options)
    assert len(timings.rows) == 6 and type(timings) is Timings
    first = told[0]
    assert first.running is not None and first.running.round == first.rows[0].samples == 1
    assert first.verdict().startswith("tiny/python is timed alone: nothing to compare it with")
    with pytest.raises(ZeroDivisionError):
        benchmark(["tiny/python"], [(3,)], watch=lambda timings: 1 // 0, **options)
    with pytest.raises(KeyboardInterrupt):
        benchmark(["tiny/python"], [(3,)], watch=interrupted, **options)
    assert len(benchmark(["tiny/python"], [(3,)], **options).rows) == 3


def interrupted(_: Partial) -> None:
    """Be interrupted by Ctrl-C."""
    raise KeyboardInterrupt


def planted_row(kernel: str, direction: str, low: float | None, high: float | None) -> Row:
    """Make a row whose interval is known."""
    middle = 1.0 if low is None or high is None else (low + high) / 2
    what: dict[str, Any] = {"op": "timed", "size": {"B": 3, "F": 17}, "dtype": "float32", "device": "cpu", "calls": 1}
    times = {"median": 1e-5, "q1": 1e-5, "q3": 1e-5, "samples": 9}
    return Row(kernel, direction=direction, speedup=middle, speedup_low=low, speedup_high=high, **what, **times)


@pytest.mark.parametrize(("low", "high"), [(0.97, 1.03), (None, None), (1.2, 1.4), (0.4, 0.6)])
def test_no_finding_is_final_while_rounds_come_in(low, high):
    """The verdict says so in a line; the same rows without a case under way read as a benchmark's do."""
    rows = (planted_row("timed/old", "both", 1, 1), planted_row("timed/new", "both", low, high))
    at = Running({"B": 3, "F": 17}, "both", 9, 60, 0.1, 1.0, 1, 1)
    found = Timings(rows, "timed/old").verdict()
    assert Partial(rows, "timed/old", at).verdict().split("\n") == [
        found,
        "B=3 F=17, both is under way: what is said of it is not final",
    ]
    assert Partial(rows, "timed/old").verdict() == found


def test_finished_cases_are_final_beside_one_that_runs():
    """Only what runs is said to be open; a selection keeps what runs."""
    rows = tuple(
        planted_row(f"timed/{kernel}", direction, *(ends if kernel == "new" else (1, 1)))
        for direction, ends in (("forward", (1.2, 1.4)), ("both", (1.1, 1.5)))
        for kernel in ("old", "new")
    )
    at = Running({"B": 3, "F": 17}, "both", 9, 60, 0.1, 1.0, 2, 2)
    timings = Partial(rows, "timed/old", at)
    assert timings.verdict().split("\n") == [
        "timed/new is 1.30x faster than timed/old (1.10-1.50), forward and backward together",
        "  B=3 F=17, forward: 1.30x faster (1.20-1.40)",
        "  B=3 F=17, both: 1.30x faster (1.10-1.50)",
        "B=3 F=17, both is under way: what is said of it is not final",
    ]
    assert timings.select(direction="both").running == at
    assert (at.text, at.where, at.share) == ("round 9 of at most 60", "B=3 F=17, both", pytest.approx(0.575))
    assert Timings.from_dict(timings.to_dict()) == Timings(rows, "timed/old")
    assert Partial((), "timed/old").verdict() == "nothing was timed yet" and "nothing was timed" in str(Partial((), ""))


@pytest.mark.usefixtures("_always_due")
def test_no_kernel_runs_while_a_watcher_is_told(clock):
    """Telling is never inside a sample: no call has begun and not ended."""
    inside = 0

    def guarded(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal inside
        inside += 1
        clock.spend(100)
        results = reference(x, w)
        inside -= 1
        return results

    told: list[int] = []
    run([Kernel("timed/guarded", python=guarded)], watch=lambda _: told.append(inside), sizes=[(3, 17)])
    assert len(told) > 20 and set(told) == {0}
