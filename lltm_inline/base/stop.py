"""Lets another thread stop a build, check or benchmark, as Ctrl-C stops one in the main thread.

Python delivers Ctrl-C to the main thread alone. A verb that runs in another one, as those of the notebook panel do, is
stopped through an event: whatever waits for a compiler or for the worker looks at it, and raises `KeyboardInterrupt`.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Iterable, Iterator
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


def readable(files: Iterable[int], seconds: float) -> set[int]:
    """Wait until one of the file descriptors can be read, or was closed on the other side; return those.

    Args:
        files: file descriptors; negative ones are left out. `select` would fail for those above 1023, and `poll` does not.
        seconds: to wait at most.

    Raises:
        KeyboardInterrupt: this thread was asked to stop.

    Example:
        >>> import os
        >>> reading, writing = os.pipe()
        >>> readable([reading], 0), os.write(writing, b"x"), readable([reading], 0) == {reading}
        (set(), 1, True)
    """
    raise_if_stopped()
    poll = select.poll()
    for file in files:
        if file >= 0:
            poll.register(file, select.POLLIN)
    return {file for file, _ in poll.poll(seconds * 1000)}
