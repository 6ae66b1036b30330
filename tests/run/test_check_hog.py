"""A check of a kernel that runs into a limit: what would run into it again is not tried, and nothing is ticked off unseen."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from lltm_inline.base.progress import Event
from lltm_inline.calling import load
from lltm_inline.checking import check as module
from lltm_inline.checking import derivatives, interface
from lltm_inline.checking.check import check, gradcheck
from lltm_inline.checking.examine import _report
from lltm_inline.checking.report import Report
from lltm_inline.checking.runner import Part, Runner
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.run.built import Built
from lltm_inline.run.cases.case import Case
from lltm_inline.run.cases.expectation import expect
from lltm_inline.run.setting import Setting
from lltm_inline.workers import steps
from lltm_inline.workers.black_box import State
from lltm_inline.workers.outcome import Died, Ending

pytestmark = pytest.mark.usefixtures("tiny")


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], tuple[Report, list[int]]]:
    """Give `checked(n)`: the report of a kernel that runs out of memory from n elements on, and when it did."""
    monkeypatch.setattr(steps.monitor, "memory", 2**30)  # as in a worker

    def checked(most: int) -> tuple[Report, list[int]]:
        failed: list[int] = []

        def hog(x: torch.Tensor) -> torch.Tensor:
            if x.numel() >= most:
                failed.append(x.numel())
                raise MemoryError
            return x * 2

        return check(Kernel("tiny/hog", python=hog), trust=True, progress=False), failed

    return checked


def test_memory_that_ran_out_is_not_asked_for_again(checked: Callable[[int], tuple[Report, list[int]]]) -> None:
    """A kernel that always wants too much is called a few times, and not for each of a hundred cases; nothing has a tick."""
    report, failed = checked(0)
    assert len(failed) < 5
    assert report["parity"].skipped == ("as many elements or more: the kernel had run out of memory at N=0, float64",)
    assert interface.NO_NONSENSE in report["interface"].skipped
    for name in ("purity", "safety"):
        assert report[name].cases == 0 and not report[name].ok
        assert "no call of forward gave a result (see parity)" in report[name].skipped
    [finding] = report["parity"].findings
    assert finding.text.startswith("forward runs out of memory") and finding.smallest == "N=0"


def test_what_takes_less_is_tried(checked: Callable[[int], tuple[Report, list[int]]]) -> None:
    """Sizes with fewer elements are looked at, and dtypes that were not are not called right."""
    report, failed = checked(19)
    assert len(failed) < 5 and min(failed) == 19
    assert report["purity"].cases and report["safety"].cases and not report.ok
    assert "right for N <= 16" in str(report) and "is right" not in str(report)


@pytest.mark.parametrize(
    ("who", "size", "most", "left_out"),
    [
        ("reference", 129, 4096, True),
        ("reference", 7, 4096, False),
        ("reference", 129, 300, False),
        ("kernel", 129, 4096, False),
    ],
)
def test_what_takes_too_long_is_left_out(who: str, size: int, most: int, left_out: bool) -> None:
    """Pairs of 4096 elements in Python, 0.1 s for 129, would take till the time-out; few elements do not tell, as torch is set up."""
    runner = Runner(load(Kernel("tiny/twice", python=lambda x: 2 * x), progress=False, trust=True))
    runner._took(who, 0.1, Case("", (size,), torch.float64))
    said = runner.takes_too_long(Case("", (most,), torch.float64))
    assert said == f"N={most}, float64: the {who} would take too long; it took 0.1 s at N={size}, float64" * left_out


def test_growth_is_told_from_sizes_that_differ() -> None:
    """Two sizes that are nearly the same differ in time by chance: as a power of the size that chance is any number."""
    runner = Runner(load(Kernel("tiny/twice", python=lambda x: 2 * x), progress=False, trust=True))
    for size, seconds in ((1024, 0.021), (1025, 0.1)):
        runner._took("kernel", seconds, Case("", (size,), torch.float64))
    assert not runner.takes_too_long(Case("", (8192,), torch.float64))
    runner._took("kernel", 1.0, Case("", (2050,), torch.float64))  # 10 times as long for twice as many
    assert runner.takes_too_long(Case("", (8192,), torch.float64))


@pytest.mark.parametrize(("off", "asked"), [(2.5, False), (2 + 1e-10, True)])
def test_how_far_the_reference_is_off_is_asked_where_it_matters(off: float, asked: bool) -> None:
    """A gradient that is off by more than any reference is wrong without the runs that tell by how much that is."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return off * grad

    runner = Runner(load(Kernel("tiny/twice", python=Twice.apply), progress=False, trust=True))
    case = Case("", (113 + asked,), torch.float64)  # what is expected is remembered
    assert "d_x" in runner.run(case).wrong
    assert ("shaken" in vars(expect(runner.op, case))) == asked


def test_what_is_left_out_is_said_once() -> None:
    """A reason that a section has given is not given again, but by one that has looked at nothing."""
    runner = Runner(load(Kernel("tiny/twice", python=lambda x: 2 * x), progress=False, trust=True))
    parts = {name: Part(count, [], ["it is long"]) for name, count in (("parity", 2), ("purity", 3), ("safety", 0))}
    report = _report(runner, {name: partial(Part, *part) for name, part in parts.items()}, [*parts], {})
    assert [section.skipped for section in report.sections] == [("it is long",), (), ("it is long",)]


def test_finite_differences_of_a_slow_kernel_are_taken_at_a_small_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two calls for each element take too long, fewer elements are moved, and the report says so."""
    assert not gradcheck(Kernel("tiny/square", python=lambda x: x * 2), trust=True, progress=False)["gradcheck"].skipped
    monkeypatch.setattr(derivatives, "_PATIENCE", 0.0)
    section = gradcheck(Kernel("tiny/square", python=lambda x: x * 2), trust=True, progress=False)["gradcheck"]
    assert section.ok and section.skipped == (
        "finite differences at N=23, float64, which take too long: at N=2, float64 they do not",
    )


def test_forward_that_raises_leaves_nothing_to_tick() -> None:
    """Where forward raises in every case, sections that look at what it did say that they saw nothing."""

    def raises(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("never")

    report = check(Kernel("tiny/raises", python=raises), trust=True, progress=False)
    assert not report["purity"].cases and not report["safety"].cases
    assert "nothing was checked\n" in str(report) and " 0 cases" not in str(report)


def test_nonsense_that_hangs_ends_the_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call with nonsense that runs into the time limit is told, and spares the waiting for the others."""
    asked: list[int] = []

    def run(function: Any, *, on_event: Any, **named: Any) -> None:
        asked.append(function.__self__.start)
        on_event(Event("try", ("x", f"in dtype {len(asked)}")))
        how = Ending("signal", 11) if len(asked) == 1 else Ending("timeout", seconds=5.0)
        raise Died(how, State(), None, "", busy=math.nan)

    monkeypatch.setattr(module.worker, "run", run)
    kernel = Kernel("tiny/stable", python=torch.neg)
    tries, untried = module._refusals(Built(kernel, registry.ops["tiny"], "cpu"), None, Setting())
    assert [one.verdict for one in tries] == ["crashes (SIGSEGV)", "hangs"] and asked == [0, 1]
    assert untried == "other inputs that make no sense: it hangs with x in dtype 2"
