"""Compilers at work: how long and how large they may become, and how they are stopped.

`load_inline` starts ninja, ninja the compiler, and that one others; none of them is ours to know. But all of them work in
the directory of their build, and nobody else does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil


@dataclass
class Attempt:
    """One compilation at work.

    Attributes:
        directory: in which it works.
        started: by the monotonic clock.
        stopped: why it was stopped; empty while it was not.
    """

    directory: Path
    started: float = field(default_factory=time.monotonic)
    stopped: str = ""


def compilers_in(directory: Path) -> Iterator[psutil.Process]:
    """Find the processes that work in a directory, whoever started them: a killed build leaves its compilers without a parent."""
    import psutil

    inside = os.path.realpath(directory)
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # ended by now, or somebody else's
            place = process.cwd()
            if place == inside or place.startswith(f"{inside}{os.sep}"):
                yield process


def kill_compilers(directory: Path, seconds: float = 5.0) -> None:
    """Kill what works in a directory, and wait until it is gone; one of them may have started another meanwhile."""
    import psutil

    deadline = time.monotonic() + seconds
    while (found := list(compilers_in(directory))) and time.monotonic() < deadline:
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=0.2)


def enforce(attempts: Iterable[Attempt], seconds: float, memory: float) -> None:
    """Stop the compilations that take longer than `seconds`, or whose compilers together hold more than `memory` bytes."""
    for attempt in list(attempts):
        if time.monotonic() - attempt.started > seconds:
            attempt.stopped = f"was still being compiled after {seconds:g} s"
        elif _memory_of(attempt.directory) > memory:
            attempt.stopped = f"took its compiler more than {memory / 2**30:.2g} GiB of memory"
        if attempt.stopped:
            kill_compilers(attempt.directory)


def _memory_of(directory: Path) -> int:
    import psutil

    total = 0
    for process in compilers_in(directory):
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total
