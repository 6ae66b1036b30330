"""What each result looks like: one function for each kind, which returns what stands between the tags of `page`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..markup import Html
from ..parts import page
from .crash import crash
from .exported import exported
from .failure import build_error, check_error, crash_error
from .kernels import build, diff, function, kernel, op, recovered, registry
from .lesson import verdict
from .machine import doctor
from .measured import memory, sweep, timings
from .progress import status
from .report import report

__all__ = ["VIEWS", "html_of"]

#: By the names of the classes: to import them would take torch, and the doctor's page is for who lacks it too.
VIEWS: dict[str, Callable[[Any], Html]] = {
    "Build": build,
    "BuildError": build_error,
    "CheckError": check_error,
    "Crash": crash,
    "CrashError": crash_error,
    "Diagnosis": doctor,
    "Diff": diff,
    "Exported": exported,
    "Function": function,
    "Kernel": kernel,
    "Memory": memory,
    "Op": op,
    "Recovered": recovered,
    "Registry": registry,
    "Report": report,
    "Status": status,
    "Sweep": sweep,
    "Timings": timings,
    "Verdict": verdict,
}


def html_of(value: object) -> str:
    """Return a result as HTML: what its `_repr_html_` gives."""
    view = next(VIEWS[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in VIEWS)
    return page(view(value))
