"""Waiting for something to happen, and looking for compilers at work, in the tests of what is stopped half-way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tests.tiny import STABLE

#: Longer than anything takes on a busy machine, in seconds.
PATIENCE = 120.0
#: What a build compiles. Precompiled headers, made in the background by and by, are none of its business.
_TEXTS = ("main.cpp", "endless.cpp")
#: A kernel of the op `tiny` that takes its time for 100 elements: long enough to be stopped half-way, after a quick size.
SLEEPY = "#include <unistd.h>\n" + STABLE.replace(
    "  for (int64_t i = 0;", "  if (from.numel() == 100) usleep(100000);\n  for (int64_t i = 0;"
)


def until(condition: Callable[[], Any]) -> Any:
    """Wait until something is so, and return what it gave."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.02)):
        if found := condition():
            return found
        pause.wait(0.02)
    raise AssertionError("it did not happen")


def gone(pid: int, seconds: float = 60.0) -> bool:
    """Wait until a process has ended; what is dead and not yet waited for has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def is_alive(process: psutil.Process) -> bool:
    """A process that only waits for its parent to ask about it has ended."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def compilers() -> list[psutil.Process]:
    """List the compilers that work on the text of a build of this process."""
    return [one for one in psutil.Process().children(recursive=True) if _compiles(one)]


def _compiles(process: psutil.Process) -> bool:
    program, *words = command_of(process) or [""]
    return Path(program).name.startswith("cc1plus") and any(word.endswith(_TEXTS) for word in words)


def command_of(process: psutil.Process) -> list[str]:
    """Return the command of a process, or nothing where it has ended meanwhile."""
    try:
        return process.cmdline()  # of a zombie it is empty
    except psutil.Error:
        return []
