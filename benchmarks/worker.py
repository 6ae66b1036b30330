"""What the worker costs: a check in it beside the same check in process, a call's round trip, a crash, the call after it.

`li.check` in the worker and in this process, in turn. The section `safety` runs in full in the worker only, since guard pages
would end one's own process, so the ratio leaves its time out of both, and another has it in. A round trip is `li.call` with the
LLTM's tensors; the same call in process is beside it. A check is traced by `opcheck` once for all texts of which a trace sees the
same: "traced" forgets that it was. A crash is a write through a null pointer: the time from the call of
`li.call` until it raises. The memory is that of the worker and of the server that forks it, pages that they share counted once.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch
from common import Results, arguments, li

from lltm_inline.checking import opcheck

KERNELS = ("lltm/fused", "lltm/stable", "axpy/cpp")
SIZE = (16, 32, 128)


def timed(function: Any, *inputs: Any, **named: Any) -> tuple[float, Any]:
    """Return how long a call took, and its result."""
    started = time.perf_counter()
    result = function(*inputs, **named)
    return time.perf_counter() - started, result


def checks(results: Results, kernel: str, rounds: int) -> None:
    """Check a kernel in the worker and in this process, in turn."""
    ratios, whole, untraced = [], [], []
    for number in range(-1, rounds + 1):
        there, report = timed(li.check, kernel, progress=False)
        here, trusted = timed(li.check, kernel, progress=False, trust=True)
        opcheck._traced.clear()
        traced, again = timed(li.check, kernel, progress=False, trust=True)
        assert report.ok and trusted.ok and again.ok
        if number > 0:  # the first ones import what they need; the second worker is forked with all of it
            results.add(f"check {kernel}, worker", there)
            results.add(f"check {kernel}, in process", here)
            results.add(f"check {kernel}, in process, traced", traced)
            untraced.append(here / traced)
            ratios.append((there - report["safety"].seconds) / (here - trusted["safety"].seconds))
            whole.append(there / here)
    results.require(f"check {kernel}: worker over in process", statistics.median(ratios), 1.1)
    results.note(f"check {kernel}: the same with guard pages", statistics.median(whole))
    results.note(f"check {kernel}: an edit that no trace sees over one that is traced", statistics.median(untraced))


def calls(results: Results, count: int) -> None:
    """Call the LLTM in the worker and in this process."""
    B, F, S = SIZE
    inputs = [torch.randn(shape) for shape in ((B, F), (3 * S, S + F), (3 * S,), (B, S), (B, S))]
    function = li.load("lltm/fused", progress=False)
    with torch.no_grad():
        for _ in range(3):
            li.call("lltm/fused", *inputs)
        # One after the other: the threads of this process, which spin for a while after a call, would take the worker's cores.
        for _ in range(count):
            results.add("li.call of the LLTM", timed(li.call, "lltm/fused", *inputs)[0])
        for _ in range(count):
            results.add("the same in process", timed(function, *inputs)[0])
    results.require("li.call of the LLTM: seconds", results.median("li.call of the LLTM"), 2e-3)


def crashes(results: Results, count: int) -> None:
    """Crash, and call a right kernel afterwards."""
    right = li.registry["axpy/cpp"]
    wrong = right.edit("  return z;\n", "  *(volatile char*)nullptr = 0;\n  return z;\n")
    inputs = (torch.ones(3), torch.ones(3))
    li.call(right, *inputs)
    for number in range(count + 1):
        told = crash_seconds(wrong, inputs)
        after = timed(li.call, right, *inputs)[0]
        if number:  # the first one builds
            results.add("a crash, until it is told", told)
            results.add("the next call", after)
    results.require("a crash: seconds until it is told", results.median("a crash, until it is told"), 1.0)
    results.require("the next call: seconds", results.median("the next call"), 0.2)


def crash_seconds(kernel: Any, inputs: tuple[Any, ...]) -> float:
    """Time a call that crashes."""
    started = time.perf_counter()
    try:
        li.call(kernel, *inputs)
    except li.CrashError as error:
        assert "null pointer" in str(error)
        return time.perf_counter() - started
    raise SystemExit("no crash")


def main() -> None:
    """Measure, print and keep."""
    quick = arguments(__doc__).quick
    results = Results("worker", quick)
    for kernel in ("axpy/cpp", *KERNELS):
        li.build(kernel, progress=False)
    results.add("first check of a session, the start of the worker included", timed(li.check, "axpy/python")[0])
    for kernel in KERNELS:
        checks(results, kernel, 2 if quick else 9)
    calls(results, 30 if quick else 300)
    crashes(results, 3 if quick else 12)
    results.note("memory of the worker, MiB", li.worker.memory / 2**20)
    results.save()


if __name__ == "__main__":
    main()
