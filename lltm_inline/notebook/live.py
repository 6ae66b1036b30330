"""Outputs of a cell that are drawn anew in their place: timings while they come in, and what is being done, until it is done."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from ..base.arguments import progress_of
from ..base.shell import in_notebook, running_shell
from ..errors import BuildError, CrashError, InputError
from ..measure.benchmark import benchmark
from ..model.registry import Kernel
from ..show.markup import Html, tag
from ..show.parts import page, paragraph
from ..show.views.measured import timings as table
from ..tables.partial import Pace, Partial, watch_of
from ..tables.timings import Timings
from .pipeline import Began

#: A step of progress is drawn when nothing else was for so long: while rounds run, what is drawn are the timings.
_IDLE_SECONDS = 0.6
#: What takes no longer needs no line about itself; afterwards its line is drawn so often.
_QUIET_SECONDS = 0.4
_BETWEEN_SECONDS = 0.25
_DONE = "timed; the figures are below"


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


def live_html(timings: Timings, *, text: str = "") -> str:
    """Return progress and timings as HTML.

    Args:
        timings: of a benchmark, which may still run.
        text: what is being done; a benchmark that still runs has a progress bar beside it.

    Example:
        >>> "nothing was timed" in live_html(Timings((), "lltm/python"))
        True
    """
    bar: object = ""
    if isinstance(timings, Partial):
        share = f"{timings.running.share:.3f}" if timings.running else None  # without one it moves to and fro
        bar = tag("progress", value=share, aria_label="progress of the benchmark")
    progress = paragraph(bar, " ", text, cls="li-faint") if text else ""
    return page(progress, table(timings) if timings.rows or not text else "")


def live_benchmark(
    kernels: Sequence[Kernel | str] | Kernel | str,
    sizes: Sequence[Sequence[int] | Mapping[str, int]] | None = None,
    **options: Any,
) -> Timings:
    """Time kernels as `benchmark` does, and show in a notebook how the intervals shrink as rounds come in.

    One table is redrawn in place, at most four times a second, and stays when the rounds are over. Drawing does not change
    how many rounds there are. Outside a notebook this is `benchmark`.

    Args:
        kernels: as for `benchmark`; so are `sizes` and all other arguments, by name.
        sizes: tuples in the order of the op's letters, or dicts by letter; default: the op's own.
        options: of `benchmark`. With `progress=False` nothing is shown.

    Returns:
        Timings with one row for each size, direction and kernel.

    Raises:
        InputError: as for `benchmark`, and its other errors. After Ctrl-C and after a crash the table shows what was
            measured before; it is in the exception's `timings`.

    Example:
        >>> t = live_benchmark(["lltm/python"], [(2, 3, 5)], seconds=0.01, check=False)
        >>> t.directions
        ('forward', 'backward', 'both')
    """
    known = [name for name in inspect.signature(benchmark).parameters if name not in ("kernels", "sizes")]
    for name in options:
        if name not in known:
            raise InputError(f"live_benchmark has no argument {name!r}; it takes kernels, sizes and {', '.join(known)}")
    progress, watch = progress_of(options.pop("progress", None)), watch_of(options.pop("watch", None))
    if progress is False or not in_notebook():
        return benchmark(kernels, sizes, progress=progress, watch=watch, **options)
    live = LiveTable(watch, progress if callable(progress) else None)
    try:
        timings = benchmark(kernels, sizes, progress=live.step, watch=live.watch, **options)
    except BaseException as error:
        live.fail(error)
        raise
    live.end(timings)
    return timings


class LiveTable:
    """One output of a notebook, drawn anew in its place.

    Args:
        watch: called with the timings, too.
        progress: called with each step of progress, too.
    """

    def __init__(
        self, watch: Callable[[Partial], None] | None = None, progress: Callable[[int, int, str], None] | None = None
    ) -> None:
        self._watch, self._progress = watch, progress
        self._timings = Partial((), "")
        self._text = ""
        self._pace = Pace(_IDLE_SECONDS)
        self._output = Output()

    def step(self, done: int, total: int, text: str) -> None:
        """Take a step of progress."""
        self._text = text
        if self._progress is not None:
            self._progress(done, total, text)
        if self._pace.due:
            self._draw(self._timings, text)

    def watch(self, timings: Partial) -> None:
        """Take the timings so far."""
        self._timings = timings
        if self._watch is not None:
            self._watch(timings)
        self._draw(timings, self._text.partition(", round ")[0])  # which round it is stands in the table

    def end(self, timings: Timings) -> None:
        """Draw for the last time; a line alone where the cell ends with these timings, which show themselves below it."""
        self._draw(timings, "")
        events: Any = getattr(running_shell(), "events", None)

        def ended(cell: Any) -> None:
            events.unregister("post_run_cell", ended)
            if cell.result is timings:
                self._update({"text/html": page(paragraph(_DONE, cls="li-faint")), "text/plain": _DONE})

        if events is not None:
            events.register("post_run_cell", ended)

    def fail(self, error: BaseException) -> None:
        """Draw what was measured until an interrupt or an error; nothing if nothing was drawn before."""
        timings = getattr(error, "timings", None)
        if isinstance(error, CrashError):
            timings = Timings(error.timings or (), self._timings.baseline)
        if self._output.is_shown:
            how = "stopped" if isinstance(error, KeyboardInterrupt) else f"ended by {type(error).__name__}"
            self._draw(timings or Timings((), ""), f"{how}: what was finished by then is here")

    def _draw(self, timings: Timings, text: str) -> None:
        plain = "\n".join(filter(None, (text, timings.verdict() if timings.rows else "")))
        self._update({"text/html": live_html(timings, text=text), "text/plain": plain})

    def _update(self, data: dict[str, str]) -> None:
        self._output.show(data, raw=True)
        self._pace.told()


class Terminal(nullcontext[None]):
    """Shows results as text, one after the other. The functions that run print their own progress."""

    progress = None
    watch = None

    def show(self, what: Any) -> None:
        """Print a result. Of a failed build the traceback says everything."""
        if not isinstance(what, BuildError | Began):
            print(what)


class Notebook:
    """Shows results in a cell. While something runs a line says what, and for how long; then the result takes its place."""

    def __init__(self) -> None:
        self._line: _RunningLine | None = None

    def __enter__(self) -> Notebook:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if self._line is not None and not isinstance(error, BuildError):  # which is shown in its place
            self._line.fail()

    def show(self, what: Any) -> None:
        """Begin a line about what has begun, or show a result in the place of the last one."""
        if isinstance(what, Began):
            self._line = _RunningLine(what.text)
            return
        line, self._line = self._line or _RunningLine(""), None
        if isinstance(what, BuildError):  # its message as text, its card as HTML
            card = {"text/plain": f"{type(what).__name__}: {what}", "text/html": str(what._repr_html_())}
            line.settle(card, raw=True)
        else:
            line.settle(what)

    def progress(self, text: str) -> None:
        """Say what is being done."""
        if self._line is not None:
            self._line.text = text

    def watch(self, timings: Partial) -> None:
        """Draw what is known of a benchmark until now."""
        if self._line is not None:
            self._line.fragment = live_html(timings)


class _RunningLine:
    """One output: a line with the elapsed time, drawn by a thread; for the first moment nothing."""

    def __init__(self, text: str) -> None:
        self.text, self.fragment = text, ""
        self._started = time.monotonic()
        self._output = Output()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lltm_inline running", daemon=True)
        self._thread.start()

    def settle(self, result: Any, *, raw: bool = False) -> None:
        """Show the result in its place."""
        self._over.set()
        self._thread.join()
        self._output.show(result, raw=raw)

    def fail(self) -> None:
        """Say when it ended without a result, if anything was shown."""
        self._over.set()
        self._thread.join()
        if self._output.is_shown:
            self._draw(": ended after", "")

    def _run(self) -> None:
        wait = _QUIET_SECONDS
        while not self._over.wait(wait):
            self._draw(" ·", self.fragment)
            wait = _BETWEEN_SECONDS

    def _draw(self, how: str, fragment: str) -> None:
        line = f"{self.text}{how} {time.monotonic() - self._started:.1f} s"
        drawn = page(paragraph(line, cls="li-faint"), Html(fragment))
        self._output.show({"text/plain": line, "text/html": drawn}, raw=True)
