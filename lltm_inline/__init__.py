"""An inline-source kernel playground for PyTorch: edit a kernel, rebuild it, see whether it is right and whether it is faster.

import lltm_inline as li
k = li.registry["lltm/fused"].edit("tanh(next) * o", "o * tanh(next)")
li.check(k)
li.plot(li.benchmark(["lltm/python", "lltm/fused", k]))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors, nn, ops

# Functions that share a name with a module are imported here, eagerly: a module that is imported later would take the name.
from .build.compiler import Build, build
from .doctor import doctor
from .errors import BuildError, CheckError
from .registry import Kernel, Op, diff, registry
from .version import __version__ as __version__

if TYPE_CHECKING:
    from .notebook.plot import plot
    from .run.benchmark import benchmark
    from .run.check import check, gradcheck
    from .run.footprint import Memory
    from .run.load import Function, load
    from .run.memory import memory
    from .run.report import Report
    from .run.timings import Timings

# Imported when first used, so that `import lltm_inline` costs hardly more than `import torch`.
_LAZY = {
    "plot": "notebook.plot",
    "benchmark": "run.benchmark",
    "check": "run.check",
    "gradcheck": "run.check",
    "Function": "run.load",
    "load": "run.load",
    "Memory": "run.footprint",
    "memory": "run.memory",
    "Report": "run.report",
    "Timings": "run.timings",
}

__all__ = [
    "Build",
    "BuildError",
    "CheckError",
    "Function",
    "Kernel",
    "Memory",
    "Op",
    "Report",
    "Timings",
    "benchmark",
    "build",
    "check",
    "diff",
    "doctor",
    "errors",
    "gradcheck",
    "load",
    "memory",
    "nn",
    "ops",
    "plot",
    "registry",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
