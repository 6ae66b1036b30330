"""What each result looks like: one function for each kind, which returns what stands between the tags of `page`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..parts import Html, page
from .analysis import assembly, roofline
from .answers import diagnosis, exported, sheet, status, verdict
from .kernels import build, diff, function, history, kernel, op, recovered, registry
from .measured import counts, memory, sweep, timings, trace
from .report import build_error, check_error, crash, crash_error, printed, report

__all__ = ["VIEWS", "html_of"]

_VIEWS: tuple[Callable[[Any], Html], ...] = (
    assembly, build, build_error, check_error, counts, crash, crash_error, diagnosis, diff, exported, function, history, kernel,
    memory, op, printed, recovered, registry, report, roofline, sheet, status, sweep, timings, trace, verdict,
)  # fmt: skip
#: By the names of the classes, after which the views are called. To import them would take torch, and the doctor's page must
#: show without it.
VIEWS = {view.__name__.title().replace("_", ""): view for view in _VIEWS}


def html_of(value: object) -> str:
    """Return a result as HTML: what its `_repr_html_` gives."""
    view = next(VIEWS[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in VIEWS)
    return page(view(value))
