"""How many processors this process may use, fewer than the machine has in a container or under taskset; and who uses them."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_CGROUPS = Path("/sys/fs/cgroup")


def processors() -> int:
    """Return how many processors this process may use: those it is bound to, and no more than its control groups give it.

    Example:
        >>> 1 <= processors() <= os.cpu_count()
        True
    """
    found = [float(len(os.sched_getaffinity(0)))]
    with suppress(OSError):  # without /proc nothing is known of groups
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            root = _CGROUPS / controllers  # version 2 names none
            # In a container the path may be that of the machine: what is not here is passed over.
            for group in (root / path.lstrip("/"), *(root / path.lstrip("/")).parents):
                if group.is_relative_to(root) and "cpu" in (controllers or "cpu").split(","):
                    quota, period = group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us"
                    limit = _numbers(group / "cpu.max") or _numbers(quota, period)
                    found += [limit[0] / limit[1]] if len(limit) == 2 and limit[0] > 0 < limit[1] else []
    return max(1, math.ceil(min(found)))


def _numbers(*files: Path) -> list[int]:
    """Read the numbers of some files; nothing where one is not there or says `max`."""
    with suppress(OSError, ValueError):
        return [int(word) for file in files for word in file.read_text().split()]
    return []


class Thread(NamedTuple):
    """What a thread does (`R`, `T` and so on), and the seconds that it has run, and has waited for a core that others had, if known."""

    state: str = ""
    ran: float = 0.0
    waited: float = 0.0


def threads_of(pid: int | str) -> dict[str, Thread]:
    """Look at the threads of a process by their numbers; of one that has ended there are none."""
    found = {}
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, IndexError, ValueError):  # it has just ended
                state, ran = _stat(task)
                counted = [one / 1e9 for one in _numbers(task / "schedstat")[:2]] or [ran, 0.0]
                found[task.name] = Thread(state, *counted)
    return found


def seconds_of(pid: int | str) -> float | None:
    """Return what all threads of a process have taken of the processors, those that have ended too; None where it has ended."""
    with suppress(OSError, IndexError, ValueError):
        return _stat(Path(f"/proc/{pid}"))[1]
    return None


def _stat(path: Path) -> tuple[str, float]:
    fields = (path / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bytes_of(pid: int, file: str, name: str) -> int:
    """Return how many bytes a file of /proc has behind a name; 0 for a process that has ended."""
    with suppress(OSError, ValueError, IndexError):
        lines = Path(f"/proc/{pid}/{file}").read_text(errors="replace").splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    return 0
