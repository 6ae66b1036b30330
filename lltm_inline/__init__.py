"""An inline-source kernel playground for PyTorch: edit a kernel, rebuild it, see whether it is right and whether it is faster.

import lltm_inline as li
k = li.registry["lltm/fused"].edit("tanh(next) * o", "o * tanh(next)")
li.check(k)
li.plot(li.benchmark(["lltm/python", "lltm/fused", k]))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors
from .base import above
from .base.packages import environment_command
from .doctor import doctor
from .errors import BuildError, CheckError, CrashError
from .version import __version__ as __version__

# What the rooms below leave to those above; nothing of it is imported here.
above.install(
    html_of=f"{__name__}.show.views",
    history_text=f"{__name__}.tables.history",
    recover=f"{__name__}.journal.recovery",
    import_extension=f"{__name__}.extension",
)

# Without torch there is nothing but the doctor, which says where torch is or how to get it.
try:
    importlib.import_module("torch")
except ImportError as error:
    WITHOUT_TORCH = f"cannot be imported: {error}"
else:
    WITHOUT_TORCH = ""
    from . import nn, ops

    # Functions that share a name with a module are imported here, eagerly: a module that is imported later would take the name.
    from .compiling.compiler import Build, build
    from .compiling.header import start_helpers
    from .export import export
    from .model.registry import Cost, Kernel, Op, diff, registry

    start_helpers()

if TYPE_CHECKING:
    from . import lab as lab
    from .analysis.assembly import Assembly, assembly
    from .analysis.roofline import Roofline, roofline
    from .autopsy.crash import Crash
    from .calling import call, load
    from .checking.check import check, gradcheck
    from .checking.report import Report
    from .extension.inline import from_load_inline
    from .judging.judge import judge
    from .judging.verdict import Verdict
    from .lesson import self_check
    from .measure.benchmark import benchmark
    from .measure.counts import counts
    from .measure.memory import memory
    from .measure.sweep import sweep
    from .measure.trace import trace
    from .notebook.live import live_benchmark
    from .notebook.panel import playground
    from .notebook.plot import plot
    from .run.function import Function
    from .run.setting import Setting
    from .tables.counts import Counts
    from .tables.memory import Memory
    from .tables.sweep import Sweep
    from .tables.timings import Timings
    from .tables.trace import Trace
    from .workers.client import worker
    from .workers.limits import Limits

# Imported when first used, so that `import lltm_inline` costs hardly more than `import torch`.
_LAZY = {
    "live_benchmark": "notebook.live",
    "playground": "notebook.panel",
    "plot": "notebook.plot",
    "self_check": "lesson",
    "Assembly": "analysis.assembly",
    "assembly": "analysis.assembly",
    "Roofline": "analysis.roofline",
    "roofline": "analysis.roofline",
    "benchmark": "measure.benchmark",
    "check": "checking.check",
    "gradcheck": "checking.check",
    "Function": "run.function",
    "from_load_inline": "extension.inline",
    "judge": "judging.judge",
    "load": "calling",
    "Crash": "autopsy.crash",
    "Limits": "workers.limits",
    "call": "calling",
    "worker": "workers.client",
    "Counts": "tables.counts",
    "counts": "measure.counts",
    "Memory": "tables.memory",
    "memory": "measure.memory",
    "Report": "checking.report",
    "Setting": "run.setting",
    "Sweep": "tables.sweep",
    "sweep": "measure.sweep",
    "Timings": "tables.timings",
    "Trace": "tables.trace",
    "trace": "measure.trace",
    "Verdict": "judging.verdict",
}

__all__ = [
    "Assembly",
    "Build",
    "BuildError",
    "CheckError",
    "Cost",
    "Counts",
    "Crash",
    "CrashError",
    "Function",
    "Kernel",
    "Limits",
    "Memory",
    "Op",
    "Report",
    "Roofline",
    "Setting",
    "Sweep",
    "Timings",
    "Trace",
    "Verdict",
    "assembly",
    "benchmark",
    "build",
    "call",
    "check",
    "counts",
    "diff",
    "doctor",
    "errors",
    "export",
    "from_load_inline",
    "gradcheck",
    "judge",
    "lab",
    "live_benchmark",
    "load",
    "memory",
    "nn",
    "ops",
    "playground",
    "plot",
    "registry",
    "roofline",
    "self_check",
    "sweep",
    "trace",
    "worker",
]


def __getattr__(name: str) -> Any:
    if WITHOUT_TORCH and name in __all__:
        raise ImportError(f"lltm_inline.{name} needs torch, which {WITHOUT_TORCH}\n  -> {environment_command()}")
    if name == "lab":  # a room as a whole, with names of its own
        return importlib.import_module(".lab", __name__)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the magics `%%kernel` and `%kernel`: what `%load_ext lltm_inline` calls."""
    from .notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take the magics away again: what `%unload_ext lltm_inline` calls."""
    from .notebook.magics import unload

    unload(shell)
