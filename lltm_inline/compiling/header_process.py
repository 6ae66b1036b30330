"""Makes one precompiled header: lock, compile in a temporary directory, publish with one rename; then old ones may have to go.

Run as a script, without torch and with hardly anything of the package, so that it costs a compiler run and nothing else; but our own
libraries are built as kernels are.
A header that does not compile is published as its log alone, so that it is not tried again at every build.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any


def main(job: dict[str, Any]) -> None:
    """Make the header, or the libraries of ours, that `job` describes, unless somebody else does or did."""
    for ended in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(ended, leave)
    signal.alarm(job["seconds"])
    if job["behind"]:
        step_back()
    if "helpers" in job:
        return make_helpers(job["helpers"])
    package = sys.modules["lltm_inline"] = ModuleType("lltm_inline")  # its own would import torch
    package.__path__ = [str(Path(__file__).parents[1])]
    from lltm_inline.compiling import cache

    key = job["key"]
    with (
        suppress(BlockingIOError, FileNotFoundError),  # somebody else makes it, or the cache was cleared meanwhile
        cache.lock(key, blocking=False),
        cache.lock("headers"),  # one at a time: several would only take the processor from kernels that are compiled
        cache.workspace(key) as work,
    ):
        if not (cache.cache_dir() / "headers" / key).exists():
            if make(job, work):
                cache.publish(work, "headers", key)
            cache.prune(**job["kept"], rooms=("headers",))


def make_helpers(names: Sequence[str]) -> None:
    """Build libraries of ours with the compiler of the environment."""
    sys.path.append(str(Path(__file__).parents[2]))
    from lltm_inline.compiling.compiler import run_jobs
    from lltm_inline.compiling.job import helper_job
    from lltm_inline.compiling.toolchain import find_toolchain

    run_jobs([helper_job(name, find_toolchain()) for name in names], progress=False)


def leave(*_: object) -> None:
    """End with the compiler, of which `g++` is only the driver; the temporary directory goes on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGTERM)
    sys.exit(1)


def step_back() -> None:
    """Let everything else have the processor first.

    Linux shares the processor out among sessions before it looks at niceness (sched(7), autogroup): a process with a
    session of its own, like this one, would take as much as the compiler of the kernel that somebody waits for.
    """
    with suppress(OSError):
        os.nice(10)
    with suppress(OSError):  # no Linux, or without autogroups
        Path("/proc/self/autogroup").write_text("10")


def make(job: dict[str, Any], work: Path) -> bool:
    """Compile in the directory `work`; False where nothing came of it that is worth keeping."""
    (work / "prelude.h").write_text(job["text"], encoding="utf-8")
    for command, text in ((job["command"], job["text"]), job["runtime"]):
        if text:
            result = subprocess.run(
                command, input=text, cwd=work, capture_output=True, encoding="utf-8", errors="replace"
            )
            if result.returncode:
                break
    if result.returncode < 0 or any(word in result.stderr for word in job["passing_failures"]):
        return False  # killed, or no room: nothing is known about the header itself
    if result.returncode:
        for file in work.iterdir():
            file.unlink()
        (work / "log.txt").write_text(result.stderr, encoding="utf-8")
    else:
        for command in job["stubs"]:  # in the place of one that does not come, the library itself is linked
            subprocess.run(command, cwd=work, capture_output=True)
    return True


if __name__ == "__main__":
    main(json.load(sys.stdin))
