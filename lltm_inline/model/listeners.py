"""What became of a kernel: build, check and benchmark report it here, and those that watch are called; the journal is one.

It is a module of its own, so that those that report need not know those that watch.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import BuildError, LltmInlineError, TemplateError
from .kernel import Kernel

#: Called with the kernel, one of `journal.STATES`, and why in one line.
Watcher = Callable[[Kernel, str, str], None]

_watchers: list[Watcher] = []
_is_quiet: ContextVar[bool] = ContextVar("lltm_inline_is_quiet", default=False)


def watch(told: Watcher) -> None:
    """Call a function with what becomes of each kernel from now on; a second time changes nothing."""
    if told not in _watchers:
        _watchers.append(told)


def unwatch(told: Watcher) -> None:
    """Undo `watch`."""
    if told in _watchers:
        _watchers.remove(told)


def tell(kernel: Kernel, state: str, hint: str = "") -> None:
    """Say what became of a kernel.

    Args:
        kernel: the revision.
        state: one of `journal.STATES`.
        hint: why, in one line.
    """
    for told in () if _is_quiet.get() else tuple(_watchers):
        told(kernel, state, hint)


def notice(text: str) -> None:
    """Warn of something for which no line of the user's is to blame, so that none is shown, and none of ours."""
    warnings.warn_explicit(text, RuntimeWarning, "lltm_inline", 1, module=__name__)


@contextmanager
def nobody_told() -> Iterator[None]:
    """Keep to oneself what becomes of kernels that nobody wrote, such as the points of a sweep."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


@contextmanager
def building(kernels: Sequence[Kernel]) -> Iterator[None]:
    """Tell that kernels were built, or of the one that failed."""
    try:
        yield
    except (BuildError, TemplateError) as error:
        for kernel in kernels:
            if error.kernel == kernel.label if isinstance(error, BuildError) else is_about(kernel, str(error)):
                tell(kernel, "failed", headline(error))
        raise
    for kernel in kernels:
        tell(kernel, "built")


def headline(error: LltmInlineError) -> str:
    """Say in one line what is wrong, without the advice."""
    diagnostics = getattr(error, "diagnostics", ())
    if diagnostics:
        return f"{diagnostics[0].place}: {diagnostics[0].message}"
    return str(error).partition("\n")[0]


def is_about(kernel: Kernel, text: str) -> bool:
    """Tell whether a message names this very revision, and not one that it was timed against."""
    return re.search(rf"(?<![\w/]){re.escape(kernel.label)}(?![\w@])", text) is not None
