"""Signs of life for whatever takes over a second.

In a terminal or notebook a live line with the elapsed time; in a pipe or a log one plain line per step.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Protocol

from .above import Shown
from .shell import in_notebook

#: Called as `progress(text)` whenever a step begins.
Progress = Callable[[str], None]

#: Called as `progress(done, total, text)`; `done` only grows and ends at `total`.
CountedProgress = Callable[[int, int, str], None]

QUIET_SECONDS = 1.0


class Step(Protocol):
    """Called with what is being done now, and with how much more of the whole is done."""

    def __call__(self, text: str, more: int = 0) -> None: ...


class LiveLine:
    """One line on standard error that appears after a second and shows what is being done and for how long."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._started = time.monotonic()
        self._status: Any = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lltm_inline progress", daemon=True)

    def __call__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> LiveLine:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        if self._done.wait(QUIET_SECONDS):
            return
        if in_notebook():
            self._show_in_place()
            return
        if not sys.stderr.isatty():
            print(self._text, file=sys.stderr, flush=True)
            return
        from rich.console import Console
        from rich.markup import escape

        with Console(stderr=True).status(escape(self._line())) as status:
            while not self._done.wait(0.1):
                status.update(escape(self._line()))

    def _show_in_place(self) -> None:
        """Show the line as an output that is updated in place, and empty in the end: nothing of it stays in the notebook."""
        from IPython.display import display

        self._status = display(Status(self._line()), display_id=True)
        while not self._done.wait(0.25):
            self._status.update(Status(self._line()))
        self._status.update(Status(""))

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
def showing(text: str, progress: Progress | bool | None) -> Iterator[Progress]:
    """Yield a function to call with each step: the caller's own, a live line (None, True) or nothing (False)."""
    if callable(progress):
        progress(text)
        yield progress
    elif progress is False:
        yield lambda _: None
    else:
        with LiveLine(text) as line:
            yield line


@contextmanager
def counting(title: str, total: int, progress: CountedProgress | bool | None) -> Iterator[Step]:
    """Yield a step function, which tells the caller's own function, or a line on the screen, how far of `total` we are."""
    done = 0
    own = progress if callable(progress) else None
    with showing(title, False if own else bool(progress is not False)) as show:

        def step(text: str, more: int = 0) -> None:
            nonlocal done
            done += more
            if own is not None:
                own(done, total, text)
            else:
                show(f"{text} ({done / total:.0%})")

        yield step
