"""An inline-source kernel playground for PyTorch: edit a kernel, rebuild it, see whether it is right and whether it is faster.

import lltm_inline as li
k = li.registry["lltm/fused"].edit("tanh(next) * o", "o * tanh(next)")
li.check(k)
li.plot(li.benchmark(["lltm/python", "lltm/fused", k]))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors as errors
from .base import above
from .base.packages import environment_command
from .doctor import doctor as doctor
from .errors import BuildError as BuildError
from .errors import CheckError as CheckError
from .errors import CrashError as CrashError
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
    from . import nn as nn
    from . import ops as ops

    # Functions that share a name with a module are imported here, eagerly: a module that is imported later would take the name.
    from .compiling.compiler import Build as Build
    from .compiling.compiler import build as build
    from .compiling.header import start_helpers
    from .export import export as export
    from .model.registry import Cost as Cost
    from .model.registry import Kernel as Kernel
    from .model.registry import Op as Op
    from .model.registry import diff as diff
    from .model.registry import registry as registry

    start_helpers()

if TYPE_CHECKING:
    from . import lab as lab
    from .analysis.assembly import Assembly as Assembly
    from .analysis.assembly import assembly as assembly
    from .analysis.roofline import Roofline as Roofline
    from .analysis.roofline import roofline as roofline
    from .autopsy.crash import Crash as Crash
    from .calling import call as call
    from .calling import load as load
    from .checking.check import check as check
    from .checking.check import gradcheck as gradcheck
    from .checking.report import Report as Report
    from .extension.inline import from_load_inline as from_load_inline
    from .judging.judge import judge as judge
    from .judging.verdict import Verdict as Verdict
    from .lesson import self_check as self_check
    from .measure.benchmark import benchmark as benchmark
    from .measure.counts import counts as counts
    from .measure.memory import memory as memory
    from .measure.sweep import sweep as sweep
    from .measure.trace import trace as trace
    from .notebook.live import live_benchmark as live_benchmark
    from .notebook.panel import playground as playground
    from .notebook.plot import plot as plot
    from .run.function import Function as Function
    from .run.setting import Setting as Setting
    from .tables.counts import Counts as Counts
    from .tables.memory import Memory as Memory
    from .tables.sweep import Sweep as Sweep
    from .tables.timings import Timings as Timings
    from .tables.trace import Trace as Trace
    from .workers.client import worker as worker
    from .workers.limits import Limits as Limits

#: By module, what is imported when it is first used, so that `import lltm_inline` costs hardly more than `import torch`.
_LATER = {
    "analysis.assembly": "Assembly assembly",
    "analysis.roofline": "Roofline roofline",
    "autopsy.crash": "Crash",
    "calling": "call load",
    "checking.check": "check gradcheck",
    "checking.report": "Report",
    "extension.inline": "from_load_inline",
    "judging.judge": "judge",
    "judging.verdict": "Verdict",
    "lesson": "self_check",
    "measure.benchmark": "benchmark",
    "measure.counts": "counts",
    "measure.memory": "memory",
    "measure.sweep": "sweep",
    "measure.trace": "trace",
    "notebook.live": "live_benchmark",
    "notebook.panel": "playground",
    "notebook.plot": "plot",
    "run.function": "Function",
    "run.setting": "Setting",
    "tables.counts": "Counts",
    "tables.memory": "Memory",
    "tables.sweep": "Sweep",
    "tables.timings": "Timings",
    "tables.trace": "Trace",
    "workers.client": "worker",
    "workers.limits": "Limits",
}
_LAZY = {name: module for module, names in _LATER.items() for name in names.split()}
_HERE = "Build BuildError CheckError Cost CrashError Kernel Op build diff doctor errors export lab nn ops registry"

__all__ = sorted([*_LAZY, *_HERE.split()])


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
