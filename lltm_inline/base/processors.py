"""How many processors this process may use: fewer than the machine has, in a container or under taskset."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

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
