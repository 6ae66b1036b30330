"""Outputs of a cell that are drawn anew in their place: timings while they come in, and what is being done, until it is done."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from ..base.shell import in_notebook, running_shell
from ..errors import BuildError, CrashError, InputError
from ..measure.benchmark import benchmark
from ..model.registry import Kernel
from ..show.parts import Html, page, paragraph, tag
from ..show.views.measured import timings as table
from ..tables.partial import Pace, Partial
from ..tables.timings import Timings
from .pipeline import Began

#: What takes no longer needs no line about itself; afterwards the line is drawn when nothing else was for so long.
_IDLE_SECONDS = 0.4
_DONE = "timed; the figures are below"


def live_html(timings: Timings) -> str:
    """Return timings as HTML, below a progress bar while their benchmark still runs.

    Example:
        >>> "nothing was timed" in live_html(Timings((), "lltm/python"))
        True
    """
    bar: object = ""
    if isinstance(timings, Partial):
        share = f"{timings.running.share:.3f}" if timings.running else None  # without one it moves to and fro
        bar = tag("progress", value=share, aria_label="progress of the benchmark")
    return page(bar, table(timings))


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
        options: of `benchmark`. With `progress` or `watch` nothing is drawn: who is called draws what they like.

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
    if not in_notebook() or options.get("progress") not in (None, True) or options.get("watch") is not None:
        return benchmark(kernels, sizes, **options)
    line = _RunningLine("benchmark")
    try:
        timings = benchmark(kernels, sizes, **{**options, "progress": line.step, "watch": line.watch})
    except BaseException as error:
        line.fail(error)
        raise
    line.settle({"text/html": live_html(timings), "text/plain": timings.verdict()}, raw=True)
    _say_once(line, timings)
    return timings


def _say_once(line: _RunningLine, timings: Timings) -> None:
    """Leave a line alone where the cell ends with these timings, which show themselves below it."""
    events: Any = getattr(running_shell(), "events", None)

    def ended(cell: Any) -> None:
        events.unregister("post_run_cell", ended)
        if cell.result is timings:
            line.settle({"text/html": page(paragraph(_DONE, cls="li-faint")), "text/plain": _DONE}, raw=True)

    if events is not None:
        events.register("post_run_cell", ended)


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
            self._line.fail(error)

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
            self._line.watch(timings)


class _RunningLine:
    """One output, drawn anew in its place: a line with the elapsed time, below it the timings so far; for the first moment nothing.

    Timings are drawn as they are told, which is between two rounds; a thread draws the line when nothing is told.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._timings: Timings = Partial((), "")
        self._started = time.monotonic()
        self._handle: Any = None
        self._drawing, self._pace = threading.Lock(), Pace(_IDLE_SECONDS)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lltm_inline running", daemon=True)
        self._thread.start()

    def step(self, done: int, total: int, text: str) -> None:
        """Take a step of progress; which round it is stands in the table."""
        self.text = text.partition(", round ")[0]

    def watch(self, timings: Partial) -> None:
        """Draw the timings so far."""
        self._timings = timings
        self._draw(" ·")

    def settle(self, result: Any, *, raw: bool = False) -> None:
        """Show the result in its place; `raw` data are texts by their MIME type."""
        self._end()
        self._show(result, raw=raw)

    def fail(self, error: BaseException | None) -> None:
        """Say when it ended without a result, and show what was timed by then; nothing if nothing was drawn before."""
        self._end()
        timings = getattr(error, "timings", None)
        if isinstance(error, CrashError):
            timings = Timings(timings or (), self._timings.baseline)
        self._timings = timings or Timings((), "")
        if self._handle is not None:
            self._draw(": stopped after" if isinstance(error, KeyboardInterrupt) else ": ended after")

    def _end(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_IDLE_SECONDS):
            if self._pace.due:
                self._draw(" ·")

    def _draw(self, how: str) -> None:
        with self._drawing:
            line = f"{self.text}{how} {time.monotonic() - self._started:.1f} s"
            timed = Html(live_html(self._timings)) if self._timings.rows else ""
            drawn = page(paragraph(line, cls="li-faint"), timed)
            verdict = f"\n{self._timings.verdict()}" if self._timings.rows else ""
            self._show({"text/plain": f"{line}{verdict}", "text/html": drawn}, raw=True)
            self._pace.told()

    def _show(self, what: Any, *, raw: bool) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(what, raw=raw, display_id=True)
        else:
            self._handle.update(what, raw=raw)
