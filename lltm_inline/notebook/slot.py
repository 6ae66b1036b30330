"""One output of a cell: while something runs it says what and for how long, and then it becomes the result."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import BuildError
from ..show import Html, page, paragraph

_QUIET_SECONDS = 0.4
_BETWEEN_SECONDS = 0.25


class Terminal:
    """Shows results as text, one after the other; the functions that run say themselves what they do."""

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Leave it to the function that runs."""
        yield None

    def show(self, result: Any) -> None:
        """Print a result; the traceback says all that there is to a failed build."""
        if not isinstance(result, BuildError):
            print(result)


class Notebook:
    """Shows results in a cell: each in the place in which was told how it came about."""

    def __init__(self) -> None:
        self._slot: Slot | None = None

    @contextmanager
    def busy(self, text: str) -> Iterator[Slot]:
        """Show a line with the elapsed time, once that is more than a moment, until the result is shown."""
        with Slot(text) as slot:
            self._slot = slot
            yield slot

    def show(self, result: Any) -> None:
        """Show a result in place of the line that told of it."""
        slot, self._slot = self._slot, None
        if slot is None:
            slot = Slot("")
        slot.settle(_Card(result) if isinstance(result, BuildError) else result)


class Slot:
    """The place of one result."""

    def __init__(self, text: str) -> None:
        self._text, self._fragment = text, ""
        self._started = time.monotonic()
        self._handle: Any = None
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="lltm_inline slot", daemon=True)

    def __enter__(self) -> Slot:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if kind is not None and self._handle is not None:
            self._update(_Line(f"{self._text}: ended after {self._elapsed():.1f} s", ""))

    def __call__(self, text: str) -> None:
        self._text = text

    def picture(self, fragment: str) -> None:
        """Show this under the line, as HTML that `page` can hold."""
        self._fragment = fragment

    def settle(self, result: Any) -> None:
        """Show the result."""
        self._over.set()
        self._update(result)

    def _run(self) -> None:
        wait = _QUIET_SECONDS
        while not self._over.wait(wait):
            self._update(_Line(f"{self._text} · {self._elapsed():.1f} s", self._fragment))
            wait = _BETWEEN_SECONDS

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _update(self, what: Any) -> None:
        from IPython.display import display

        with self._lock:
            if self._handle is None:
                self._handle = display(what, display_id=True)
            else:
                self._handle.update(what)


class _Line:
    """A line about what is being done."""

    def __init__(self, text: str, fragment: str) -> None:
        self._text, self._fragment = text, fragment

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return page(paragraph(self._text, cls="li-faint"), Html(self._fragment))


class _Card:
    """A failed build as an output of its cell: the message as text, the card of `BuildError` as HTML."""

    def __init__(self, error: BuildError) -> None:
        self._error = error

    def __repr__(self) -> str:
        return f"{type(self._error).__name__}: {self._error}"

    def _repr_html_(self) -> str:
        return str(self._error._repr_html_())
