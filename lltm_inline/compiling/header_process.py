"""Makes one precompiled header: lock, compile in a temporary directory, publish with one rename; then old ones may have to go.

Run as a script, without torch and without the rest of the package, so that it costs a compiler run and nothing else.
A header that does not compile is published as its log alone, so that it is not tried again at every build.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout


def main(job: dict[str, Any]) -> None:
    """Make the header that `job` describes, unless somebody else does or did."""
    cache, key = Path(job["cache"]), job["key"]
    os.umask(0o077)  # filelock makes the directory of a lock again when the cache was removed: for its owner alone
    for ended in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(ended, leave)
    signal.alarm(job["seconds"])
    if job["behind"]:
        step_back()
    # One header at a time: several would only take the processor from the kernels that are compiled meanwhile.
    mine, turn = (FileLock(cache / "locks" / f"{name}.lock") for name in (key, "headers"))
    with suppress(Timeout, FileNotFoundError), mine.acquire(blocking=False), turn:  # or the cache was cleared meanwhile
        if not (cache / "headers" / key).exists():
            make(
                job, cache / "headers" / key, Path(tempfile.mkdtemp(prefix=f"{key}-{os.getpid()}-", dir=cache / "tmp"))
            )
            prune(cache, job["most_bytes"], *(time.time() - job[name] for name in ("spared_seconds", "kept_seconds")))


def leave(*_: object) -> None:
    """End with the compiler, of which `g++` is only the driver; the temporary directory goes on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGTERM)
    sys.exit(1)


def prune(cache: Path, most_bytes: float, spared: float, kept: float) -> None:
    """Remove the headers not used since `kept`, and those used longest ago until the others fit; none used since `spared`."""
    total = 0
    for used, header in sorted(((path.stat().st_mtime, path) for path in (cache / "headers").iterdir()), reverse=True):
        total += sum(file.stat().st_size for file in header.iterdir())
        if used < kept or (total > most_bytes and used < spared):
            aside = Path(tempfile.mkdtemp(prefix=f"{header.name}-{os.getpid()}-", dir=cache / "tmp"))
            header.rename(aside / "entry")  # at once: who reads it meanwhile finds all of it or nothing
            shutil.rmtree(aside, ignore_errors=True)


def step_back() -> None:
    """Let everything else have the processor first.

    Linux shares the processor out among sessions before it looks at niceness (sched(7), autogroup): a process with a
    session of its own, like this one, would take as much as the compiler of the kernel that somebody waits for.
    """
    with suppress(OSError):
        os.nice(10)
    with suppress(OSError):  # no Linux, or without autogroups
        Path("/proc/self/autogroup").write_text("10")


def make(job: dict[str, Any], target: Path, work: Path) -> None:
    """Compile in the directory `work` and move it to `target`."""
    try:
        (work / "prelude.h").write_text(job["text"], encoding="utf-8")
        for command, text in ((job["command"], job["text"]), job["runtime"]):
            if text:
                result = subprocess.run(
                    command, input=text, cwd=work, capture_output=True, encoding="utf-8", errors="replace"
                )
                if result.returncode:
                    break
        if result.returncode < 0 or any(word in result.stderr for word in job["passing_failures"]):
            return  # killed, or no room: nothing is known about the header itself
        if result.returncode:
            for file in work.iterdir():
                file.unlink()
            (work / "log.txt").write_text(result.stderr, encoding="utf-8")
        else:
            for command in job["stubs"]:  # in the place of one that does not come, the library itself is linked
                subprocess.run(command, cwd=work, capture_output=True)
        with suppress(OSError):  # pruned or published by somebody else meanwhile
            work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main(json.load(sys.stdin))
