"""One output of a cell: while something runs it says what, and for how long. Then the result takes its place."""

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


class Output:
    """One output of a cell, drawn anew in its place."""

    def __init__(self) -> None:
        self._handle: Any = None

    @property
    def is_shown(self) -> bool:
        """Whether anything was drawn yet."""
        return self._handle is not None

    def show(self, what: Any, *, raw: bool = False) -> None:
        """Draw something; `raw` data are texts by their MIME type."""
        from IPython.display import display

        if self._handle is None:
            self._handle = display(what, raw=raw, display_id=True)
        else:
            self._handle.update(what, raw=raw)


class Terminal:
    """Shows results as text, one after the other. The functions that run print their own progress."""

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Do nothing: the function that runs prints its own progress."""
        yield None

    def show(self, result: Any) -> None:
        """Print a result. Of a failed build the traceback says everything."""
        if not isinstance(result, BuildError):
            print(result)


class Notebook:
    """Shows results in a cell, each in the place of the line about its progress."""

    def __init__(self) -> None:
        self._slot: Slot | None = None

    @contextmanager
    def busy(self, text: str) -> Iterator[Slot]:
        """Show a line with the elapsed time until the result is shown; for the first moment nothing."""
        with Slot(text) as slot:
            self._slot = slot
            yield slot

    def show(self, result: Any) -> None:
        """Show a result in place of the line about its progress."""
        slot, self._slot = self._slot, None
        if slot is None:
            slot = Slot("")
        slot.settle(_Card(result) if isinstance(result, BuildError) else result)


class Slot:
    """The place of one result."""

    def __init__(self, text: str) -> None:
        self._text, self._fragment = text, ""
        self._started = time.monotonic()
        self._output = Output()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="lltm_inline slot", daemon=True)

    def __enter__(self) -> Slot:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if kind is not None and self._output.is_shown:
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
        with self._lock:
            self._output.show(what)


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
