"""Timing from outside: twice the work is half as fast, and what is not there when the clock stops is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lltm_inline.lab.builder import build, toolchain_of
from lltm_inline.lab.judge import grade_text
from lltm_inline.lab.lab import Exercise, Lab
from lltm_inline.lab.runner import Runner
from lltm_inline.lab.timing import Line
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.workers.limits import Limits
from tests.needs import needs
from tests.planted.cheats import FASTER, RIGHT, SLOW, Cheat
from tests.planted.cheats.holes import QUICKER, Hole
from tests.quick import QUICK

pytestmark = needs("Landlock and seccomp")

_LOOP = "for (int64_t i = 0; i < z.numel(); ++i) r[i] = 2 * p[i] + q[i];"
LATER = "std::thread([=] {{ std::this_thread::sleep_for(std::chrono::seconds(2)); {} }}).detach();"
#: Comes back at once, and computes in a thread of its own.
LAZY = "#include <chrono>\n#include <thread>\n" + RIGHT.replace(_LOOP, LATER.format(f"(void)a; (void)b; {_LOOP}"))


def grade(text: str) -> list[str]:
    """Grade the speed of a text against a baseline that does the work twelve times; say why it falls by each of two criteria."""
    # The largest size that is timed, a quarter of axpy's own: most of the time goes into drawing inputs and the reference.
    op = replace(registry.ops["axpy"], benchmark_sizes=((1_000_000,),))
    exercise = Exercise("cell", op, "axpy/mine", {"speed 1.5": 1.0, "speed 100": 1.0}, baseline=SLOW)
    lab = Lab("lab", Path("/"), (exercise,), Limits(seconds=20), b"secret")
    return [mark.reason for mark in grade_text(lab, exercise, text, {}, seed=b"seed", compiler=QUICK)]


def test_what_is_computed_late_is_missing() -> None:
    """A thread that goes on when forward is back finds everything standing still."""
    op = registry.ops["axpy"]
    toolchain = toolchain_of(QUICK)
    library = build(Kernel("axpy/lazy", cpp=LAZY), op, toolchain, ())
    x, y = torch.randn(100_000), torch.randn(100_000)
    with Runner(library, op, Limits()) as runner:
        _, values = Line(op, runner).timed([x, y], [torch.ones(100_000)], 1)
        # Until it is asked again: its threads take no core from the baseline.
        assert runner.start()._state() == "T"
    assert not torch.allclose(values[0], 2 * x + y)


@pytest.mark.full
def test_a_faster_kernel_meets_what_a_slower_one_does_not() -> None:
    """The lower bound of the ratio decides for each criterion by itself, and the reason has the numbers."""
    fast, slow = grade(RIGHT), grade(SLOW)
    assert fast[0] == "" and "times as fast as the baseline" in fast[1] and "want at least 100 for sure" in fast[1]
    assert "want at least 1.5 for sure" in slow[0] and "want at least 100 for sure" in slow[1]


@pytest.mark.full
def test_a_result_is_compared_in_every_timed_call() -> None:
    """One that is wrong once has no time."""
    wrong = RIGHT.replace("  return z;", "  static int calls = 0;\n  if (++calls > 6) z.zero_();\n  return z;", 1)
    for text in (f"#include <ATen/ops/zero.h>\n{wrong}", LAZY):
        assert all("what it gives while it is timed is wrong: z is" in reason for reason in grade(text))


@pytest.mark.full
@pytest.mark.parametrize(
    "cheat",
    [pytest.param(one, id=one.name) for one in FASTER],
)
def test_a_cheat_is_no_faster(cheat: Cheat) -> None:
    """It does the baseline's work, and gets no points for looking as if it did less."""
    reasons = grade(cheat.text)
    assert cheat.says in reasons[0] and all(reasons)


@pytest.mark.full
@pytest.mark.parametrize("hole", [pytest.param(one, id=one.name) for one in QUICKER])
def test_what_was_timed_as_faster_is_not(hole: Hole) -> None:
    """It is wrong where it is timed, or as slow as it is."""
    reasons = grade(hole.text)
    assert hole.says in reasons[0] and all(reasons)
