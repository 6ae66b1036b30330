"""The verbs in the worker: load tries a library first, call is differentiable, rows and reports survive a crash, blame is fair."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline import calling
from lltm_inline.compiling import cache
from lltm_inline.errors import CheckError, CrashError, InputError
from lltm_inline.model.registry import Kernel, Op
from lltm_inline.tables.timings import Row
from tests.planted.crash_row import GOOD, forward, register
from tests.planted.crash_row import Row as Crashing
from tests.tiny import STABLE

pytestmark = pytest.mark.usefixtures("quick_compiler")

_AT_LOAD = "struct Early { Early() { *(volatile int*)nullptr = 1; } } early;"
#: Crashes in forward from 500 elements on.
_WHEN_LARGE = Crashing(
    "when_large", "", forward("if (x.numel() > 500) *static_cast<volatile int*>(nullptr) = 1;  // here"), ()
).kernel
_NULL = Crashing("null", "", forward("*static_cast<volatile int*>(nullptr) = 1;  // here"), ()).kernel
_EARLY = Crashing("early", "", forward("", before=_AT_LOAD), ()).kernel
_WAITS = Crashing("waits", "", forward("if (x.numel() > 500) for (volatile int i = 0;; i = i + 1) {}"), ()).kernel
_TALKS = Crashing("talks", "", forward('if (x.numel() == 1) std::printf("one element\\n");'), ()).kernel


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build all kernels of these tests at once."""
    register()
    li.build([GOOD, _WHEN_LARGE, _NULL, _EARLY, _WAITS, _TALKS], progress=False)


@pytest.fixture
def x() -> torch.Tensor:
    """Give a test an input."""
    return torch.arange(19.0, dtype=torch.float64)


def test_call_returns_what_the_kernel_returns(x: torch.Tensor) -> None:
    """Values, dtype and shape are those of a call in this process."""
    assert torch.equal(li.call(GOOD, x, progress=False), 2 * x)
    B, F, S = 3, 17, 5
    inputs = (torch.randn(B, F), torch.randn(3 * S, F + S), torch.randn(3 * S), torch.randn(B, S), torch.randn(B, S))
    there, here = li.call("lltm/python", *inputs), li.registry["lltm/python"].python(*inputs)
    assert all(torch.equal(one, other) for one, other in zip(there, here, strict=True))


def test_call_is_differentiable(x: torch.Tensor) -> None:
    """Gradients flow through the worker; those that nobody wants are not asked for."""
    leaf = x.clone().requires_grad_()
    li.call(GOOD, leaf).pow(2).sum().backward()
    assert leaf.grad is not None and torch.equal(leaf.grad, 8 * x)
    B, F, S = 2, 3, 4
    inputs = [torch.randn(n, dtype=torch.float64) for n in ((B, F), (3 * S, F + S), (3 * S,), (B, S), (B, S))]
    inputs[1].requires_grad_()
    there = torch.autograd.grad(li.call("lltm/python", *inputs)[0].sum(), inputs[1])[0]
    here = torch.autograd.grad(li.registry["lltm/python"].python(*inputs)[0].sum(), inputs[1])[0]
    assert torch.allclose(there, here)


def test_call_refuses_before_anything_runs(x: torch.Tensor) -> None:
    """The number of inputs is looked at here."""
    with pytest.raises(InputError, match=r"crash/good takes 1 to 1 inputs \(Tensor x\), got 2"):
        li.call(GOOD, x, x)


def test_call_tells_the_crash(x: torch.Tensor) -> None:
    """Kernel, step, inputs, line and cause are there, and the input is as it was."""
    before = x.clone()
    with pytest.raises(CrashError) as caught:
        li.call(_NULL, x)
    crash = caught.value.crash
    assert (crash.kernel, crash.step, crash.inputs) == ("crash/null", "forward", ("x (19,) float64",))
    assert crash.place.startswith("crash/null:") and "// here" in crash.excerpt and "null pointer" in crash.detail
    assert torch.equal(x, before) and torch.equal(li.call(GOOD, x), 2 * x)


def test_load_tries_the_library_in_the_worker_first(x: torch.Tensor) -> None:
    """What crashes at load or at a small size never comes into this process; what lives is remembered in the cache."""
    for kernel, step in ((_EARLY, "load"), (_NULL, "forward")):
        with pytest.raises(CrashError) as caught:
            li.load(kernel, progress=False)
        assert caught.value.crash.step == step
    maps = Path("/proc/self/maps").read_text()
    for kernel in (_EARLY, _NULL):
        built = li.build(kernel, progress=False)
        assert str(built.path) not in maps and not cache.is_proven(built.digest, built.sha256)
    function = li.load(GOOD, progress=False)
    assert torch.equal(function(x), 2 * x) and function.build is not None
    assert cache.is_proven(function.build.digest, function.build.sha256)


def test_checked_library_is_not_tried_out_again(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a check has run, or a record in the cache names, is loaded at once; also where the disk takes no record."""
    tried: list[str] = []
    monkeypatch.setattr(calling, "_try_out", lambda built, _: tried.append(built.kernel.label))
    checked, recorded, new = (tiny(2, text=f"{STABLE}// {name}\n", variant=name) for name in ("a", "b", "c"))
    with monkeypatch.context() as full_disk:
        full_disk.setattr(cache, "mark_proven", lambda *_: None)
        assert li.check(checked, progress=False).ok
    built = li.build(recorded, progress=False)
    cache.mark_proven(built.digest, built.sha256)
    for kernel in (checked, recorded, new, new):
        li.load(kernel, progress=False)
    assert tried == [new.label]


@pytest.mark.full
def test_proven_library_needs_no_worker() -> None:
    """A second process loads at once what a first one has tried; trust=True never asks."""
    li.load("axpy/aten", progress=False)
    code = """
        import lltm_inline as li, torch
        print(li.load("axpy/aten")(torch.ones(2), torch.ones(2)).tolist(), li.worker)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[3.0, 3.0] worker: not running"


def test_check_of_a_crash_keeps_what_was_finished() -> None:
    """The report is a report: not ok, with the crash, the sections that ended before, and those that were not reached."""
    report = li.check(_WHEN_LARGE, progress=False)
    assert not report.ok and report.crash is not None
    assert report.crash.step == "forward" and report.crash.place.startswith("crash/when_large:")
    assert "interface: the kernel had crashed" in report["crash"].skipped
    assert report.matrix["y"]["23"] == "ok" and "SIGSEGV" in report.matrix["y"].values()
    assert "'crash/when_large' crashed in forward: SIGSEGV" in report.headline
    assert li.check(GOOD, progress=False).ok


def test_report_has_what_the_kernel_printed() -> None:
    """The printf of C++ is in the report, and on the screen of a call."""
    report = li.check(_TALKS, progress=False)
    assert report.ok and "one element" in report.output


def test_call_prints_what_the_kernel_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """As if it had run here."""
    li.call(_TALKS, torch.ones(1))
    assert capsys.readouterr().out == "one element\n"


def test_benchmark_keeps_its_rows_when_a_kernel_crashes() -> None:
    """What was measured at the sizes before is in the exception."""
    with pytest.raises(CrashError) as caught:
        li.benchmark([GOOD, _WHEN_LARGE], [(100,), (1000,)], check=False, seconds=0.05, progress=False)
    rows = caught.value.timings
    assert rows and {row.size["N"] for row in rows} == {100} and all(isinstance(row, Row) for row in rows)
    assert caught.value.crash.kernel == "crash/when_large"


def test_benchmark_of_an_endless_loop_is_a_timeout() -> None:
    """It is the kernel's time-out, with its name and size."""
    with pytest.raises(TimeoutError) as caught:
        limits = li.Limits(seconds=0.5)
        li.benchmark([GOOD, _WAITS], [(1000,)], check=False, seconds=0.05, progress=False, limits=limits)
    assert caught.value.crash.kernel == "crash/waits" and "N=1000" in caught.value.crash.case


def test_benchmark_and_memory_do_not_measure_what_crashes_in_its_check() -> None:
    """The check comes first, and its crash is raised."""
    for verb in (li.benchmark, li.memory):
        with pytest.raises(CrashError, match="crash/when_large"):
            verb([_WHEN_LARGE], [(10,)], progress=False)


def test_wrong_kernels_are_still_check_errors(x: torch.Tensor) -> None:
    """A kernel that is merely wrong is no crash."""

    def wrong(x: torch.Tensor) -> torch.Tensor:
        return 3 * x

    with pytest.raises(CheckError) as caught:
        li.benchmark([Kernel("crash/wrong", python=wrong)], [(10,)], progress=False)
    assert caught.value.report is not None and not caught.value.report.ok


@pytest.fixture
def local_op() -> Iterator[Op]:
    """Register an op as a notebook does: with functions that no other process can import."""
    secret = 3.0

    def reference(x: torch.Tensor) -> torch.Tensor:
        return x * secret

    op = Op("local", "(Tensor x) -> Tensor y", reference, {"x": "N", "y": "N"})
    li.registry.register(op)
    yield op
    for table in (li.registry._ops, li.registry._first, li.registry._current):
        for name in [name for name in table if name.partition("/")[0] == "local"]:
            del table[name]


def tripled() -> Callable[[torch.Tensor], torch.Tensor]:
    """Make a kernel with a backward of its own, as the tutorials write it."""

    class Triple(torch.autograd.Function):
        """Times three."""

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return 3 * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return 3 * g

    return lambda x: Triple.apply(x)


def test_ops_of_a_notebook_travel(local_op: Op) -> None:
    """References, lambdas and autograd functions of a cell are checked in the worker like any other."""
    assert li.check("local/python", progress=False).ok
    report = li.check(Kernel("local/function", python=tripled()), progress=False)
    assert report.ok, report


def test_an_edited_op_is_checked_as_it_is_now(local_op: Op) -> None:
    """The worker does not go on with an op that it knew by the same name."""
    right = Kernel("local/right", python=lambda x: 3 * x)
    assert li.check(right, progress=False).ok
    changed = Op("local", "(Tensor x) -> Tensor y", lambda x: 4 * x, {"x": "N", "y": "N"})
    li.registry.adopt(changed)
    assert not li.check(right, progress=False).ok


def test_a_reference_that_ends_the_process_is_named(local_op: Op) -> None:
    """What computes when the worker dies is the reference: no cause in the kernel's text is made up."""

    def aborts(x: torch.Tensor) -> torch.Tensor:
        import os

        if x.numel() == 23 and x.dtype == torch.float64:
            os.abort()
        return 3 * x

    li.registry.adopt(Op("local", "(Tensor x) -> Tensor y", aborts, {"x": "N", "y": "N"}))
    crash = li.check(Kernel("local/right", python=lambda x: 3 * x), progress=False).crash
    assert crash is not None and crash.step == "reference" and crash.what.startswith("SIGABRT")
    assert crash.cause.startswith("it was the reference that computed then, not the kernel: call it alone")


def test_an_earlier_kernel_is_not_held_against_a_right_one(x: torch.Tensor) -> None:
    """A worker that dies of damage done before is replaced, the call is repeated there, and the suspect is named."""
    li.worker.restart()

    def damages(x: torch.Tensor) -> torch.Tensor:
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0.3)  # ends the process later, in somebody else's call
        return 2 * x

    def waits(x: torch.Tensor) -> torch.Tensor:
        import time

        time.sleep(0.8)
        return 2 * x

    assert torch.equal(li.call(Kernel("crash/damages", python=damages), x), 2 * x)
    with pytest.warns(RuntimeWarning, match=r"crash/waits.*\(crash/damages\)"):
        assert torch.equal(li.call(Kernel("crash/waits", python=waits), x), 2 * x)


def test_trust_runs_here(local_op: Op) -> None:
    """With trust=True nothing is sent anywhere."""
    pids = []

    def spy(x: torch.Tensor) -> torch.Tensor:
        pids.append(1)
        return 3 * x

    kernel = Kernel("local/spy", python=spy)
    assert li.check(kernel, progress=False).ok and not pids
    assert li.check(kernel, progress=False, trust=True).ok and pids
