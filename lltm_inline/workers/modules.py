"""The user's own modules in a worker: where the text of one has changed, another worker imports it anew, as the caller's reload does."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Mapping
from types import ModuleType

#: When a file was changed last, and its size.
Stamp = tuple[int, int]
#: Some file systems date a change by a clock that is behind by one of its ticks.
_TICK = 20_000_000
_UNSURE = (-1, -1)
_INSTALLED = {"site-packages", "dist-packages"}
_STDLIB = tuple({f"{sysconfig.get_paths()[name]}{os.sep}" for name in ("stdlib", "platstdlib")})


class Modules:
    """The modules of the user that this process has imported, each with the stamp that its file had then.

    What is imported when this begins is no module of the user, nor is what is installed.
    """

    def __init__(self) -> None:
        self._roots = {name.partition(".")[0] for name in sys.modules}
        self._seen = set(sys.modules)
        self._stamps: dict[str, Stamp] = {}
        self._since = 0

    def begin(self) -> None:
        """A request begins: of a file that is changed from now on nobody knows what was read of it."""
        self._since = time.time_ns()

    def stamps(self) -> dict[str, Stamp]:
        """Return the stamps of all files, those that were imported for the last request among them."""
        new = sys.modules.keys() - self._seen
        self._seen |= new
        for name in new:
            file = None if name.partition(".")[0] in self._roots else _source_of(sys.modules.get(name))
            if file is not None and (stamp := _stamp_of(file)) is not None:
                # What is dated in the future was not changed just now: another clock, as of a share, is ahead.
                is_sure = not self._since - _TICK <= stamp[0] <= time.time_ns()
                self._stamps[file] = stamp if is_sure else _UNSURE
        return self._stamps


def are_unchanged(stamps: Mapping[str, Stamp]) -> bool:
    """Tell whether files are what they were; of one that is gone, the caller goes on with what it has imported."""
    return all(_stamp_of(file) in (stamp, None) for file, stamp in stamps.items())


def _source_of(module: ModuleType | None) -> str | None:
    """Return the file of a module that a user may edit; None of any other."""
    file = getattr(module, "__dict__", {}).get("__file__")
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    installed = file.startswith(_STDLIB) or not _INSTALLED.isdisjoint(file.split(os.sep))
    return None if installed else file


def _stamp_of(file: str) -> Stamp | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size
