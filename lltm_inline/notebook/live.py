"""Timings while they come in: one figure in the notebook, drawn anew in its place until the rounds are over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.arguments import progress_of, string
from ..base.shell import in_notebook, running_shell
from ..errors import CrashError, InputError
from ..measure.benchmark import benchmark
from ..model.registry import Kernel
from ..show import Html, fold, page, paragraph, tag
from ..show.views.measured import verdict_note
from ..tables.partial import Pace, Partial, watch_of
from ..tables.timings import Timings
from .bars import WIDTH, picture
from .slot import Output

#: A step of progress is drawn when nothing else was for so long: while rounds run, what is drawn are the timings.
_IDLE_SECONDS = 0.6


def live_html(timings: Timings, *, text: str = "", width: int = WIDTH) -> str:
    """Return picture, progress, verdict and conditions as HTML.

    Args:
        timings: as for `picture`.
        text: what is being done; a benchmark that still runs has a progress bar beside it.
        width: of the picture.

    Raises:
        InputError: as for `picture`.

    Example:
        >>> "nothing was timed" in live_html(Timings((), "lltm/python"))
        True
    """
    drawn = _drawn(timings, width)
    string("text", text)
    running = timings.running if isinstance(timings, Partial) else None
    bar: object = ""
    if isinstance(timings, Partial):
        share = f"{running.share:.3f}" if running is not None else None  # without one it moves to and fro
        bar = tag("progress", value=share, aria_label="progress of the benchmark")
    progress = paragraph(bar, " ", text, cls="li-faint") if text else ""
    if not timings.rows:
        return page(progress or drawn)
    conditions: object = paragraph(timings.conditions(" · "), cls="li-faint li-small")
    if running is None:  # what folds would close again with each drawing
        conditions = fold("conditions", conditions)
    return page(drawn, progress, verdict_note(timings.verdict(), is_final=running is None), conditions)


def _drawn(timings: Timings, width: int = WIDTH) -> Html:
    """Draw timings as a part of a page."""
    return tag("pre", Html(picture(timings, width=width)), cls="li-picture")


def live_benchmark(
    kernels: Sequence[Kernel | str] | Kernel | str,
    sizes: Sequence[Sequence[int] | Mapping[str, int]] | None = None,
    **options: Any,
) -> Timings:
    """Time kernels as `benchmark` does, and show in a notebook how the intervals shrink while rounds come in.

    One figure is drawn anew in its place, at most four times a second, and stays when the rounds are over. Drawing does not
    change how many rounds there are. Outside of a notebook this is `benchmark`.

    Args:
        kernels: as for `benchmark`; so are `sizes` and all other arguments, by name.
        sizes: tuples in the order of the op's letters, or dicts by letter; default: the op's own.
        options: of `benchmark`. With `progress=False` nothing is shown.

    Returns:
        Timings with one row for each size, direction and kernel.

    Raises:
        InputError: as for `benchmark`, whose other errors come, too. After Ctrl-C and after a crash the figure shows what was
            measured until then; it is in the exception's `timings`.

    Example:
        >>> t = live_benchmark(["lltm/python"], [(2, 3, 5)], seconds=0.01, check=False)
        >>> t.directions
        ('forward', 'backward', 'both')
    """
    progress, watch = progress_of(options.pop("progress", None)), watch_of(options.pop("watch", None))
    if progress is False or not in_notebook():
        return _benchmark(kernels, sizes, {**options, "progress": progress, "watch": watch})
    figure = LivePicture(watch, progress if callable(progress) else None)
    try:
        timings = _benchmark(kernels, sizes, {**options, "progress": figure.step, "watch": figure.watch})
    except BaseException as error:
        figure.fail(error)
        raise
    figure.end(timings)
    figure.leave_to(timings)
    return timings


def _benchmark(kernels: Any, sizes: Any, options: dict[str, Any]) -> Timings:
    """Call `benchmark`, and refuse an option that it does not have."""
    known = benchmark.__kwdefaults__ or {}
    for name in options:
        if name not in known:
            raise InputError(f"live_benchmark has no argument {name!r}; it takes kernels, sizes and {', '.join(known)}")
    return benchmark(kernels, sizes, **options)


class LivePicture:
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
            self._show(self._timings, text)

    def watch(self, timings: Partial) -> None:
        """Take the timings so far."""
        self._timings = timings
        if self._watch is not None:
            self._watch(timings)
        self._show(timings, self._text.partition(", round ")[0])  # which round it is stands in the picture

    def end(self, timings: Timings, text: str = "") -> None:
        """Draw for the last time."""
        self._show(timings, text)

    def leave_to(self, timings: Timings) -> None:
        """Keep the picture alone where the cell ends with these timings: what they say of themselves stands below it."""
        events: Any = getattr(running_shell(), "events", None)

        def ended(cell: Any) -> None:
            events.unregister("post_run_cell", ended)
            if cell.result is timings:
                self._update({"text/html": page(_drawn(timings)), "text/plain": "a picture of the timings below"})

        if events is not None:
            events.register("post_run_cell", ended)

    def fail(self, error: BaseException) -> None:
        """Draw what was measured until an interrupt or an error; nothing if nothing was drawn before."""
        timings = getattr(error, "timings", None)
        if isinstance(error, CrashError):
            timings = Timings(error.timings or (), self._timings.baseline)
        if self._output.is_shown:
            how = "stopped" if isinstance(error, KeyboardInterrupt) else f"ended by {type(error).__name__}"
            self.end(timings or Timings((), ""), f"{how}: what was finished by then is here")

    def _show(self, timings: Timings, text: str) -> None:
        plain = "\n".join(filter(None, (text, timings.verdict() if timings.rows else "")))
        self._update({"text/html": live_html(timings, text=text), "text/plain": plain})

    def _update(self, data: dict[str, str]) -> None:
        self._output.show(data, raw=True)
        self._pace.told()
