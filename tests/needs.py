"""What a test needs that a machine may lack: without it the test is skipped, and fails where the run demands all.

A test says `@needs("nvcc")`, or in its body `need("nvcc")`. In a run with LLTM_INLINE_TESTS_REQUIRE=all, which is that of `.ci/run`,
a skip is a failure, whoever skips, unless its reason is one of `TRUE`; and so is a machine without one of `ALWAYS`. Each run ends with
the reasons of its skips, counted.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Generator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

REQUIRE = "LLTM_INLINE_TESTS_REQUIRE"

#: What is there wherever all is demanded; `.ci/run` fetches it.
ALWAYS = (
    *("g++", "g++-11", "clang++", "nvcc", "cmake", "ruff", "Chromium", "Landlock and seccomp", "bwrap"),
    *("readelf", "addr2line", "c++filt", "llvm-objdump", "llvm-symbolizer", "node", "npm"),
)

#: Reasons that are true of a whole machine: of its hardware, of what its owner may do, and of programs that are about such. What
#: stands behind a colon says more of the same.
TRUE = (
    "needs a GPU",
    "needs two GPUs",
    "needs that there is no GPU",
    "needs a torch without CUDA",
    "needs AVX2",
    "needs x86-64",
    "needs root",
    "needs the right to mount",
    "needs the right to make control groups",
    "needs the right to use bubblewrap",
    "needs two processors",
    "needs the right to deny user namespaces",
    "needs the right to take samples",
    "needs perf",
    "needs 32 GiB of address space",
    "needs ld.gold",  # a Debian has bfd alone
    "needs ld.lld",
    "needs ld.mold",
    "needs aarch64-linux-gnu-g++",
    "needs qemu-aarch64",
    "needs another Python with torch",
    "needs npm's registry",
    "needs nbgrader",  # which the registry of packages may not have
)


def program(name: str) -> str | None:
    """Find a program: on PATH, and where else it is used from."""
    also = {"ruff": str(Path(sys.executable).parent), "nvcc": "/usr/local/cuda/bin"}.get(name)
    return shutil.which(name) or (shutil.which(name, path=also) if also else None)


def missing_locks() -> list[str]:
    """Lock a process of its own in, and say which of the locks that a grader needs this machine has not."""
    from lltm_inline.lab import sandbox

    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(writing, " ".join(sandbox.lock_in([], memory=1 << 30, seconds=60)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as said:
        found = said.read().split()
    os.waitpid(child, 0)
    return [name for name in sandbox.NEEDED if name not in found]


@lru_cache
def lacks(name: str) -> str:
    """Say what this machine lacks, and how to get it where there is more to say than the name; nothing if it is there."""
    more = ""
    match name:
        case "Chromium":
            from tests.browser.chromium import CURE, find_chromium

            there, more = find_chromium() is not None, CURE
        case "Landlock and seccomp":
            locks = missing_locks()
            there, more = not locks, f"this machine has no {' and no '.join(locks)}"
        case "a GPU" | "two GPUs" | "that there is no GPU":
            import torch

            found = torch.cuda.device_count() if torch.cuda.is_available() else 0
            there = {"a GPU": found > 0, "two GPUs": found > 1, "that there is no GPU": not found}[name]
            more = f"torch {torch.__version__} finds {found}"
        case "a torch without CUDA":
            import torch

            there = torch.version.cuda is None
        case "AVX2":
            import torch

            there = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
        case "x86-64":
            there = os.uname().machine == "x86_64"
        case "the right to make control groups":
            from lltm_inline.lab import enclosure

            given = enclosure.controllers()
            there, more = given == enclosure.CONTROLLERS, f"of version 2 there are {', '.join(given) or 'none'}"
        case "the right to use bubblewrap":
            from lltm_inline.lab import enclosure

            there = bool(enclosure.bubblewrap(Path(__file__)))  # inside it, there may be no folder for temporary files
        case "root":
            there = os.geteuid() == 0
        case _:
            there = program(name) is not None
    return "" if there else f"needs {name}: {more}" if more else f"needs {name}"


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test on a machine that lacks one of these."""
    lacking = [why for name in names if (why := lacks(name))]
    return pytest.mark.skipif(bool(lacking), reason="; ".join(lacking))


def need(*names: str) -> None:
    """Skip the test, or the fixture, that calls it on a machine that lacks one of these."""
    for name in names:
        if why := lacks(name):
            pytest.skip(why)


def is_true(reason: str) -> bool:
    """Whether a machine that has all there is to have may say so."""
    return all(part.partition(":")[0] in TRUE for part in re.split("; (?=needs )", reason.removeprefix("Skipped: ")))


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what would demand nothing."""
    if os.environ.get(REQUIRE, "all") != "all":
        raise pytest.UsageError(f"{REQUIRE} is {os.environ[REQUIRE]!r}, want 'all', or no such variable")


def _held(report: Any) -> Any:
    """Make a failure of a skip that the run does not allow."""
    if report.skipped and REQUIRE in os.environ and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2]
        if not is_true(reason):
            report.outcome = "failed"
            report.longrepr = f"{REQUIRE}=all, and this is skipped: {reason.removeprefix('Skipped: ')}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Hold a test to what the run demands."""
    return _held((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Hold a file that skips itself to it."""
    return _held((yield))


def missing() -> list[str]:
    """Say what the run demands and this machine lacks, whether a test has asked for it or not."""
    return [why for name in ALWAYS if (why := lacks(name))] if REQUIRE in os.environ else []


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail without what the run demands: there are tests that look at what is there, and skip nothing."""
    if not hasattr(session.config, "workerinput") and session.exitstatus == pytest.ExitCode.OK and missing():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Count the reasons of what was skipped."""
    reports = terminalreporter.stats.get("skipped", [])
    if reports:
        terminalreporter.section("what was skipped, and why")
    reasons = (report.longrepr[2].removeprefix("Skipped: ").partition("\n")[0] for report in reports)
    for reason, count in Counter(reasons).most_common():
        terminalreporter.write_line(f"{count:5}  {reason}"[: terminalreporter._tw.fullwidth])
    for why in missing():
        terminalreporter.write_line(f"{REQUIRE}=all, and this machine {why}", red=True)
