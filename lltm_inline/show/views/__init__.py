"""What each result looks like: one function for each kind, which returns what stands between the tags of `page`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..markup import Html
from ..parts import page
from .analysis import assembly, roofline
from .answers import doctor, exported, sheet, status, verdict
from .kernels import build, diff, function, history, kernel, op, recovered, registry
from .measured import counts, memory, sweep, timings, trace
from .report import build_error, check_error, crash, crash_error, printed, report

__all__ = ["VIEWS", "html_of"]

#: By the names of the classes: to import them would take torch, and the doctor's page must show without it.
VIEWS: dict[str, Callable[[Any], Html]] = {
    "Assembly": assembly,
    "Build": build,
    "BuildError": build_error,
    "CheckError": check_error,
    "Counts": counts,
    "Crash": crash,
    "CrashError": crash_error,
    "Diagnosis": doctor,
    "Diff": diff,
    "Exported": exported,
    "Function": function,
    "History": history,
    "Kernel": kernel,
    "Memory": memory,
    "Op": op,
    "Printed": printed,
    "Recovered": recovered,
    "Registry": registry,
    "Report": report,
    "Roofline": roofline,
    "Sheet": sheet,
    "Status": status,
    "Sweep": sweep,
    "Timings": timings,
    "Trace": trace,
    "Verdict": verdict,
}


def html_of(value: object) -> str:
    """Return a result as HTML: what its `_repr_html_` gives."""
    view = next(VIEWS[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in VIEWS)
    return page(view(value))
