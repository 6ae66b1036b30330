"""The user's own modules in the worker: imported anew when their text has changed, as the caller's are by a reload."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import sysconfig
import time
from collections.abc import Callable
from types import ModuleType

import torch

from ..model.registry import registry

#: Called when modules were dropped: whoever remembers functions of theirs forgets them.
when_dropped: list[Callable[[], object]] = []

_Stamp = tuple[int, int]
#: Some file systems date a change by a clock that is behind by one of its ticks.
_TICK = 20_000_000
_UNSURE = (-1, -1)
_INSTALLED = {"site-packages", "dist-packages"}
_STDLIB = tuple({f"{sysconfig.get_paths()[name]}{os.sep}" for name in ("stdlib", "platstdlib")})


class Modules:
    """The modules of the user that this process has imported, each with the stamp that its file had then.

    What is imported when this begins is no module of the user, nor is what is installed. A compiled module cannot be
    imported twice in a process, and stays, here as in the caller's.
    """

    def __init__(self) -> None:
        self._roots = {name.partition(".")[0] for name in sys.modules}
        self._seen = set(sys.modules)
        self._stamps: dict[str, tuple[str, _Stamp]] = {}
        self._since = time.time_ns()
        self._registered = registry.snapshot()

    def refresh(self) -> None:
        """Forget all of them if the file of one has changed: those that have not may hold functions of those that have."""
        self._note()
        self._since = time.time_ns()
        if all(_stamp_of(file) in (stamp, None) for file, stamp in self._stamps.values()):
            return
        for name in self._stamps:
            _take_back_operators(sys.modules.pop(name, None))
        self._seen -= self._stamps.keys()
        self._stamps.clear()
        registry.restore(self._registered)  # an op cannot be registered twice
        for forget in when_dropped:
            forget()
        gc.collect()  # what they hold goes with them
        importlib.invalidate_caches()

    def _note(self) -> None:
        """Take down what was imported since the last time. Of a file that was changed meanwhile nobody knows which was read."""
        new = sys.modules.keys() - self._seen
        self._seen |= new
        for name in new:
            file = None if name.partition(".")[0] in self._roots else _source_of(sys.modules.get(name))
            if file is not None and (stamp := _stamp_of(file)) is not None:
                self._stamps[name] = file, stamp if stamp[0] < self._since - _TICK else _UNSURE


def _take_back_operators(module: ModuleType | None) -> None:
    """Let a module register its operators again: torch keeps the old ones, and with them all that their functions refer to."""
    for value in list(getattr(module, "__dict__", {}).values()):
        if isinstance(value, torch.library.Library):
            value._destroy()


def _source_of(module: ModuleType | None) -> str | None:
    """Return the file of a module that a user may edit; None of any other."""
    file = getattr(module, "__dict__", {}).get("__file__")
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    installed = file.startswith(_STDLIB) or not _INSTALLED.isdisjoint(file.split(os.sep))
    return None if installed else file


def _stamp_of(file: str) -> _Stamp | None:
    try:
        status = os.stat(file)
    except OSError:  # it is gone, and the caller goes on with what it has imported
        return None
    return status.st_mtime_ns, status.st_size
