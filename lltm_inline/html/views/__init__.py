"""What each result looks like: one function for each kind, which returns what stands between the tags of `page`."""

from __future__ import annotations

from .exported import exported
from .failure import build_error, check_error, crash
from .kernels import build, diff, function, kernel, op, registry
from .machine import doctor
from .measured import memory, timings
from .report import report

__all__ = [
    "build",
    "build_error",
    "check_error",
    "crash",
    "diff",
    "doctor",
    "exported",
    "function",
    "kernel",
    "memory",
    "op",
    "registry",
    "report",
    "timings",
]
