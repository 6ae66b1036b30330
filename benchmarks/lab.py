"""What grading costs: a runner forked and locked in, and how many submissions a core grades in a minute, beside plain load_inline.

A submission is a text of its own (a comment tells them apart), so each is compiled. `plain` is what people write: load_inline,
one comparison, and torch.autograd.gradcheck, one after the other in one process; it locks nothing in, and tries one size.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import torch
from common import Results, arguments, compilers, li
from torch.utils import cpp_extension

from lltm_inline.build import header
from lltm_inline.build.toolchain import find_toolchain
from lltm_inline.lab import Exercise, Lab
from lltm_inline.lab.builder import build, toolchain_of
from lltm_inline.lab.inside import ProbeTask
from lltm_inline.lab.judge import grade_text
from lltm_inline.lab.locked import Locked
from lltm_inline.lab.runner import Runner

TEXT = li.registry["axpy/cpp"].cpp
PARAMS = {"A": 2, "GRAIN": 32768}
POINTS = {
    "builds": 1.0,
    "signature": 1.0,
    "parity": 4.0,
    "gradient x": 1.0,
    "gradient y": 1.0,
    "safety": 1.0,
    "forbidden": 1.0,
}
EXERCISE = Exercise("axpy", li.registry.ops["axpy"], "axpy/mine", POINTS, forbid=("aten",))
LAB = Lab("lab", 1, Path("/"), (EXERCISE,), li.Limits(seconds=5), b"secret")


def locks(results: Results, count: int) -> None:
    """Fork a process and lock it in, and load a library there."""
    toolchain = toolchain_of(None)
    library = build(li.Kernel("axpy/mine", cpp=TEXT, params=PARAMS), EXERCISE.op, toolchain, ("aten",))
    x = torch.ones(1000)
    for number in range(count + 3):
        started = time.perf_counter()
        with Locked(ProbeTask("read a file of yours", "/etc/passwd", 1, 1), 1 << 20) as process:
            process.receive(0, 10)
            locked = time.perf_counter() - started
        with Runner(library, EXERCISE.op, li.Limits()) as runner:
            started = time.perf_counter()
            runner.start()
            loaded = time.perf_counter() - started
            runner.function(x, x)
            started = time.perf_counter()
            runner.function(x, x)
            called = time.perf_counter() - started
        if number >= 3:
            results.add("a process forked and locked in", locked)
            results.add("the same with memory to share, and a kernel loaded", loaded)
            results.add("one call", called)
    results.require("forked and locked in: seconds", results.median("a process forked and locked in"), 0.030)


def graded(results: Results, compiler: str, count: int, target: float) -> None:
    """Grade submissions one after another, on one core and its compiler."""
    header.wait(find_toolchain(compiler), "light")
    for number in range(count + 1):
        started = time.perf_counter()
        marks = grade_text(LAB, EXERCISE, f"{TEXT}// {number} {time.time()}\n", PARAMS, seed=b"seed", compiler=compiler)
        seconds = time.perf_counter() - started
        assert all(mark.points == mark.of for mark in marks), [mark.reason for mark in marks if mark.reason]
        if number:  # the first starts what forks, and draws the inputs of all
            results.add(f"a submission, {compiler}", seconds)
    results.require(
        f"submissions a minute a core, {compiler}",
        60 / results.median(f"a submission, {compiler}"),
        target,
        at_least=True,
    )


def plain(results: Results, compiler: str, count: int) -> None:
    """Grade as people do: load_inline, allclose, gradcheck."""
    os.environ["CXX"] = compiler
    for number in range(count):
        started = time.perf_counter()
        text = f"#define A 2\n#define GRAIN 32768\n{TEXT}// {number} {time.time()}\n"
        module = cpp_extension.load_inline(
            f"plain_{compiler.strip('+')}_{number}_{int(time.time())}",
            text.replace("std::array<bool, 2> wanted", "std::vector<bool> wanted"),
            functions=["forward", "backward"],
            extra_cflags=["-O3", "-march=native"],
        )

        axpy = _differentiable(module)
        x, y = (torch.randn(23, dtype=torch.float64, requires_grad=True) for _ in range(2))
        assert torch.allclose(axpy(x, y), 2 * x + y) and torch.autograd.gradcheck(axpy, (x, y))
        results.add(f"plain load_inline and gradcheck, {compiler}", time.perf_counter() - started)


def _differentiable(module: Any) -> Any:
    """Make a function of autograd out of a module, as the tutorials do."""

    class Axpy(torch.autograd.Function):
        """The kernel, for autograd."""

        @staticmethod
        def forward(ctx, x, y):
            return module.forward(x, y)

        @staticmethod
        def backward(ctx, d_z):
            return tuple(module.backward(d_z, [True, True]))

    return Axpy.apply


def main() -> None:
    """Measure, print and keep."""
    quick = arguments(__doc__).quick
    results = Results("lab", quick)
    locks(results, 10 if quick else 50)
    for compiler in compilers():
        graded(results, compiler, 2 if quick else 12, 30 if "clang" in compiler else 15)
        plain(results, compiler, 1 if quick else 4)
        row, beside = f"a submission, {compiler}", f"plain load_inline and gradcheck, {compiler}"
        results.note(f"plain over graded, {compiler}", results.median(beside) / results.median(row))
    results.save()


if __name__ == "__main__":
    main()
