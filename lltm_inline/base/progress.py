"""One way to say what is being done: whatever takes long tells its events, and signs of life are shown for it.

In a terminal or notebook a live line with the elapsed time; in a pipe or a log a plain line now and then.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from .above import Shown
from .shell import in_notebook

QUIET_SECONDS = 1.0
#: In a log a line tells so often that it still goes on.
SECONDS_BETWEEN_LINES = 30.0


@dataclass(frozen=True)
class Event:
    """What a task tells on its way.

    Attributes:
        kind: `"progress"` (values: what is being done, and how much more of the whole is done), or a word of the task's own.
        values: a section that is finished, rows that were measured.
    """

    kind: str
    values: tuple[Any, ...] = ()


Listener = Callable[[Event], None]
_listener: ContextVar[Listener | None] = ContextVar("lltm_inline_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let the events of this block reach a function.

    Example:
        >>> with listening(print):
        ...     say("comparing", 1)
        Event(kind='progress', values=('comparing', 1))
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def emit(kind: str, *values: Any) -> None:
    """Tell an event to whoever listens."""
    listener = _listener.get()
    if listener is not None:
        listener(Event(kind, values))


def say(text: str, more: int = 0) -> None:
    """Tell what is being done now, and how much more of the whole is done."""
    emit("progress", text, more)


#: What a user may give: called with a text whenever a step begins.
Progress = Callable[[str], None]


class Show(Protocol):
    """Called with what is being done now, and with how much more of the whole is done: the one signature within."""

    def __call__(self, text: str, more: int = 0, /) -> None: ...


class LiveLine:
    """One line on standard error that appears after a second and shows what is being done and for how long."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._started = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lltm_inline progress", daemon=True)

    def __call__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> LiveLine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        if self._done.wait(QUIET_SECONDS):
            return
        if in_notebook():
            # The line is an output that is updated in place, and empty in the end: nothing of it stays in the notebook.
            from IPython.display import display

            status = display(Status(self._line()), display_id=True)
            while not self._done.wait(0.25):
                status.update(Status(self._line()))
            status.update(Status(""))
            return
        if not sys.stderr.isatty():
            print(self._text, file=sys.stderr, flush=True)
            while not self._done.wait(SECONDS_BETWEEN_LINES):
                print(self._line(), file=sys.stderr, flush=True)
            return
        from rich.console import Console
        from rich.markup import escape

        with Console(stderr=True).status(escape(self._line())) as status:
            while not self._done.wait(0.1):
                status.update(escape(self._line()))

    def _line(self) -> str:
        return f"{self._text} {time.monotonic() - self._started:.0f} s"


class Status(Shown):
    """The line as an output of a cell; without a text it is nothing at all."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.text else "<span></span>"


@contextmanager
def showing(title: str, progress: Any, total: int = 0) -> Iterator[Show]:
    """Yield a function to call with each step, which tells the user's own function, or a line on the screen.

    Args:
        title: what is done as a whole.
        progress: what the user gave: a `Progress`, or with a total `progress(done, total, text)`, where `done` only grows and ends
            at `total`; None or True for a live line, False for nothing.
        total: how much there is to do; 0 where nobody counts.
    """
    done = 0
    own = progress if callable(progress) else None
    shown: AbstractContextManager[LiveLine | None] = nullcontext() if own or progress is False else LiveLine(title)
    with shown as line:

        def tell(text: str, more: int = 0) -> None:
            nonlocal done
            done += more
            if own is not None:
                own(*((done, total, text) if total else (text,)))
            elif line is not None:
                line(f"{text} ({done / total:.0%})" if total else text)

        if not total:
            tell(title)
        yield tell
