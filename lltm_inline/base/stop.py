"""Lets another thread stop a build, check or benchmark, as Ctrl-C stops one in the main thread.

Python delivers Ctrl-C to the main thread alone. A verb that runs in another one, as those of the notebook panel do, is
stopped through an event: whatever waits for a compiler or for the worker looks at it, and raises `KeyboardInterrupt`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_pressed: ContextVar[threading.Event | None] = ContextVar("lltm_inline_stop", default=None)


@contextmanager
def stoppable(event: threading.Event) -> Iterator[None]:
    """Let `event` stop what this thread does in the block.

    Args:
        event: set by any thread to stop it; cleared when it is taken, so that one press raises one exception.

    Raises:
        KeyboardInterrupt: the event was set; compilers have been killed and the worker has stopped.

    Example:
        >>> stop = threading.Event()
        >>> with stoppable(stop):
        ...     raise_if_stopped()
    """
    token = _pressed.set(event)
    try:
        yield
    finally:
        _pressed.reset(token)


def raise_if_stopped() -> None:
    """Raise if this thread was asked to stop; to be called in every loop that waits.

    Raises:
        KeyboardInterrupt: it was asked to, once for each time.

    Example:
        >>> stop = threading.Event()
        >>> with stoppable(stop):
        ...     stop.set()
        ...     try:
        ...         raise_if_stopped()
        ...     except KeyboardInterrupt:
        ...         print("stopped")
        stopped
    """
    event = _pressed.get()
    if event is not None and event.is_set():
        event.clear()
        raise KeyboardInterrupt
