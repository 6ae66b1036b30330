"""What stands around builders and runners where the machine has it: bubblewrap, and control groups.

    bubblewrap       numbers of processes, a network, IPC and mounts of their own: nothing can be written but the cache's own folder
    control groups   one for each builder or runner and all that it starts: its memory, its processes, its share of the processors

What a process locks itself in with (sandbox.py) holds without them; `lab doctor` says which of them there are.

Source: bwrap(1), cgroups(7), and Documentation/admin-guide/cgroup-v2.rst of Linux.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import subprocess
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_BUBBLE = (
    *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
)
_SECONDS = 20.0
CONTROLLERS = ("memory", "pids", "cpu")
#: Of the limit on memory: the process's own comes first. And what a fork copies of the server's pages.
_LOOSER, _COPIED = 1.25, 1 << 28
_NAME = "lltm-inline-{judge}-{process}"
#: Groups of processes that had not quite ended when they were closed.
_left: list[Path] = []


@lru_cache
def bubblewrap(cache: Path) -> tuple[str, ...]:
    """Return the words that come before a command for bubblewrap to start it; none where that is missing, or may not.

    Args:
        cache: can be written there, and so can the folder that it is in: a cache that was removed is made anew.
    """
    program = shutil.which("bwrap")
    if program is None:
        return ()
    writable = str(cache if cache.parent == Path("/") else cache.parent)
    words = (program, *_BUBBLE, "--bind", writable, writable)
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run([*words, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=_SECONDS)
        return words
    return ()


@lru_cache
def _place() -> Path | None:
    """Find where control groups can be made: next to this process's own, or in it where it is the root; None without any."""
    with suppress(OSError, StopIteration):
        with open("/proc/self/mounts") as mounts:
            root = next(Path(words[1]) for words in map(str.split, mounts) if words[2] == "cgroup2")
        with open("/proc/self/cgroup") as groups:
            own = root / next(line[3:].strip().lstrip("/") for line in groups if line.startswith("0::"))
        place = own if own == root else own.parent
        for name in CONTROLLERS:
            try:
                (place / "cgroup.subtree_control").write_text(f"+{name}")
            except OSError as error:
                if error.errno == errno.EBUSY:
                    break  # there are processes in it, which those that come next would put up with
        for old in place.glob(_NAME.format(judge="*", process="*")):  # of a judge that was killed
            if not Path("/proc", old.name.split("-")[2]).exists():
                with suppress(OSError):
                    old.rmdir()
        probe = place / _NAME.format(judge=os.getpid(), process=0)
        probe.mkdir()
        is_whole = (probe / "cgroup.type").read_text().strip() == "domain"
        probe.rmdir()
        return place if is_whole else None
    return None


@lru_cache  # each submission asks
def controllers() -> tuple[str, ...]:
    """Return what a control group made here limits, of memory, pids and cpu."""
    with suppress(OSError):
        given = (place / "cgroup.subtree_control").read_text().split() if (place := _place()) else ()
        return tuple(name for name in CONTROLLERS if name in given)
    return ()


class Group:
    """The control group of one process and all that it starts; nothing where none can be made.

    Args:
        pid: of a process that has started nothing yet.
        memory: bytes that it may take.
        processes: and threads that there may be.
    """

    def __init__(self, pid: int, memory: int, processes: int) -> None:
        self._path: Path | None = None
        _sweep()
        if controllers() and (place := _place()):
            path = place / _NAME.format(judge=os.getpid(), process=pid)
            limits = {"memory.max": int(_LOOSER * memory) + _COPIED, "memory.swap.max": 0, "pids.max": processes}
            with suppress(OSError):
                path.mkdir()
                self._path = path
                for name, value in limits.items():
                    with suppress(FileNotFoundError, PermissionError):  # a controller that is not given here
                        (path / name).write_text(str(value))
                (path / "cgroup.procs").write_text(str(pid))

    @property
    def overran(self) -> bool:
        """Whether the system has ended something in it for its own limit of memory, and not for that of the machine."""
        events = dict[str, str]()
        if self._path is not None:
            with suppress(OSError):
                events = dict(map(str.split, (self._path / "memory.events").read_text().splitlines()))
        return "0" not in (events.get("oom", "0"), events.get("oom_kill", "0"))

    def close(self) -> None:
        """End all that is in it, and remove it."""
        if self._path is not None:
            with suppress(OSError):
                (self._path / "cgroup.kill").write_text("1")
            if not _removed(self._path):
                _left.append(self._path)


@atexit.register
def _sweep() -> None:
    _left[:] = [path for path in _left if not _removed(path)]


def _removed(path: Path) -> bool:
    with suppress(OSError):
        path.rmdir()
    return not path.exists()
