"""A picture of a benchmark: times on top, speed-ups with their intervals below, one column a direction.

Memory and sweeps have pictures of their own, see `plot_memory` and `plot_sweep`; what all have in common is in `figure`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..arguments import refusal
from ..errors import InputError
from ..run.footprint import Memory
from ..run.swept import Sweep
from ..run.timing.words import three, time_text
from ..run.timings import Row, Timings
from .figure import (
    BASELINE_COLOUR,
    RULE,
    WHITE,
    Head,
    Look,
    Plot,
    axis_of_sizes,
    names_at_left,
    places_of,
    plain,
    require_inches,
    styles_of,
)
from .plot_memory import plot_memory
from .plot_sweep import plot_sweep


def _decades(*steps: float) -> tuple[float, ...]:
    return tuple(round(step * 10.0**power, 9) for power in range(-6, 7) for step in steps)


# Ticks of an axis of ratios; 1 is in each.
_RATIOS: tuple[tuple[float, ...], ...] = (
    tuple(step / 100 for step in range(80, 122, 2)),
    tuple(step / 100 for step in range(60, 145, 5)),
    (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8),
    (0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2),
    _decades(1, 1.5, 2, 3, 4, 5, 7),
    _decades(1, 1.5, 2, 3, 5, 7),
    _decades(1, 2, 5),
    _decades(1, 3),
    _decades(1),
    tuple(100.0**power for power in range(-3, 4)),
    (1.0,),
)
# Of the place that there is for a label, how much it fills.
_LABEL_SHARE = 0.73
_TITLES = {"forward": "forward", "backward": "backward", "both": "forward + backward"}


def plot(timings: Timings | Memory | Sweep, *, size: tuple[float, float] | None = None) -> Figure:
    """Draw the times of a benchmark, and beneath them the speed-ups over its baseline; or memory, or a sweep.

    Several sizes give lines over the size with bands between the quartiles; one size gives bars. Below, bands or bars
    are 99 % confidence intervals; what touches the line at 1x is no finding.

    Args:
        timings: what `benchmark` gave, or `memory` (see `plot_memory`), or `sweep` (see `plot_sweep`).
        size: width and height in inches; by default it grows with the number of directions.

    Returns:
        A figure; a notebook shows it, `figure.savefig("lltm.png")` or `.svg` keeps it.

    Raises:
        InputError: there are no rows, or a size that no figure can have.

    Example:
        >>> from lltm_inline.run.benchmark import benchmark
        >>> t = benchmark(["lltm/python"], [(2, 3, 5), (4, 3, 5)], seconds=0.01, check=False)
        >>> [axes.get_ylabel() for axes in plot(t).axes]
        ['time per call', '', '']
    """
    if isinstance(timings, Memory):
        return plot_memory(timings, size=size)
    if isinstance(timings, Sweep):
        return plot_sweep(timings, size=size)
    if not isinstance(timings, Timings):
        raise refusal("timings", timings, "what benchmark, memory or sweep gave")
    require_inches(size)
    if not timings.rows:
        raise InputError("nothing was timed: there is nothing to plot")
    directions, styles = timings.directions, styles_of(timings.kernels, timings.baseline)
    look = Look(styles, *places_of(timings.sizes, partial(_work, timings)))
    lines, compares = len(timings.sizes) > 1, len(styles) > 1
    top = 2.7 if lines else 0.7 + 0.33 * len(styles)
    below = 0.0 if not compares else 1.9 if lines else 0.7 + 0.33 * (len(styles) - 1)
    width = size[0] if size else max(5.2, 1.2 + 3.3 * len(directions))
    head = Head(_title(timings), timings.conditions(" · "), styles if lines else {}, width)
    figure = Plot(figsize=size or (width, head.inches + top + below + 0.6 * lines), layout="constrained")
    FigureCanvasAgg(figure)
    figure.words = f"times per call of {_title(timings)}. {timings.verdict()}"
    grid = figure.subplots(
        2 if compares else 1, len(directions), squeeze=False, sharex="col" if lines else False, sharey="row",
        height_ratios=[top, below] if compares else None,
    )  # fmt: skip
    head.draw(figure)
    if lines and look.letter:
        for axes in grid.flat:
            axes.set_xscale("log", base=2)
    for column, direction in enumerate(directions):
        part = timings.select(direction=direction)
        grid[0][column].set_title(_TITLES[direction], fontsize=10, loc="left")
        (_time_lines if lines else _time_bars)(grid[0][column], part, look, column == 0)
        if compares:
            (_speedup_lines if lines else _speedup_bars)(grid[1][column], part, look, column == 0)
    if lines:
        axis_of_sizes(timings.sizes[0], look, grid[-1])
        panels = (figure.get_figheight() - head.inches - 0.9) / (top + below)
        _time_ticks(grid[0][0], timings, panels * top)
        if compares:
            _speedup_ticks(grid[1][0].yaxis, timings, panels * below / 0.22)
            over = f"speed-up over\n{timings.baseline}" if panels * below > 1.2 else "speed-up"
            grid[1][0].set_ylabel(over, fontsize=9)
    return figure


def _title(timings: Timings) -> str:
    first = timings.rows[0]
    where = f": {first.size_text.replace(' ', ', ')}" if len(timings.sizes) == 1 else ""
    return f"{first.op}, {first.dtype}, {first.device}{where}"


def _work(timings: Timings, size: Mapping[str, int]) -> float:
    """Order sizes by how long the baseline takes in all."""
    return sum(row.median for row in timings.select(size=size, kernel=timings.baseline).rows)


def _curves(axes: Axes, timings: Timings, look: Look, values: Callable[[Row], Sequence[float | None]]) -> None:
    """Draw for each kernel a line through the first value of its rows, and a band between the other two."""
    places = look.places
    for label, style in look.styles.items():
        rows = sorted(timings.select(kernel=label).rows, key=lambda row: places[tuple(row.size.values())])
        if not rows:
            continue
        at = [places[tuple(row.size.values())] for row in rows]
        middle, low, high = zip(*(values(row) for row in rows), strict=True)
        axes.plot(
            at, middle, color=style.color, marker=style.marker, linestyle=style.linestyle, markersize=4.5, linewidth=1.5
        )
        known = [(x, lower, upper) for x, lower, upper in zip(at, low, high, strict=True) if lower and upper]
        if known:
            xs, lowers, uppers = ([values[part] for values in known] for part in range(3))
            axes.fill_between(xs, lowers, uppers, color=style.color, alpha=0.2, linewidth=0)


def _time_lines(axes: Axes, timings: Timings, look: Look, is_first: bool) -> None:
    axes.set_yscale("log")
    _curves(axes, timings, look, lambda row: (row.median, row.q1, row.q3))
    axes.grid(axis="y", color=RULE, linewidth=0.7)
    plain(axes)
    if is_first:
        axes.set_ylabel("time per call", fontsize=9)


def _time_ticks(axes: Axes, timings: Timings, inches: float) -> None:
    """Put as many round times on a logarithmic axis as there is room for, four to the inch at most."""
    low, high = min(row.q1 for row in timings.rows), max(row.q3 for row in timings.rows)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    pad = (high / low) ** 0.07 * 1.03
    low, high = low / pad, high * pad
    for steps in ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        if len(ticks) <= max(2.0, inches / 0.25):
            break
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_time_tick))
    axes.set_ylim(low, high)


def _speedup_lines(axes: Axes, timings: Timings, look: Look, _: bool) -> None:
    axes.set_yscale("log")
    others = {label: style for label, style in look.styles.items() if label != timings.baseline}
    _curves(axes, timings, replace(look, styles=others), lambda row: (row.speedup, row.speedup_low, row.speedup_high))
    axes.axhline(1, color=BASELINE_COLOUR, linewidth=1)
    axes.grid(axis="y", color=RULE, linewidth=0.7)
    plain(axes)


def _speedup_ticks(axis: Any, timings: Timings, most: float) -> tuple[float, float]:
    """Put round factors on an axis of ratios, 1 among them, as close as places for `most` labels allow; return its ends."""
    rows = [row for row in timings.rows if row.kernel != timings.baseline]
    ends = [end for row in rows for end in (row.speedup, row.speedup_low, row.speedup_high) if end]
    low, high = min([0.97, *ends]), max([1.03, *ends])
    pad = (high / low) ** 0.08
    low, high = low / pad, high * pad
    choices = [[tick for tick in ticks if low <= tick <= high] for ticks in _RATIOS]
    closest = _LABEL_SHARE / max(3.0, most) * math.log(high / low)
    ticks = min((ticks for ticks in choices if min(_gaps(ticks), default=math.inf) >= closest),
                key=lambda ticks: max(_gaps([low, *ticks, high])))  # fmt: skip
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}x"))
    (axis.axes.set_ylim if axis.axis_name == "y" else axis.axes.set_xlim)(low, high)
    return low, high


def _gaps(ticks: Sequence[float]) -> list[float]:
    """Return how far ticks of a logarithmic axis are from each other."""
    return [math.log(after / before) for before, after in pairwise(ticks)]


def _time_bars(axes: Axes, timings: Timings, look: Look, is_first: bool) -> None:
    """Draw one bar a kernel with a whisker between the quartiles, and its time written beside it."""
    rows = {row.kernel: row for row in timings.rows}
    longest = max(row.q3 for row in timings.rows)
    for place, (label, style) in enumerate(look.styles.items()):
        if label not in rows:
            continue
        row = rows[label]
        axes.barh(place, row.median, height=0.62, color=style.color, alpha=0.85)
        axes.plot([row.q1, row.q3], [place, place], color="black", linewidth=1.2)
        axes.text(row.q3 + longest * 0.03, place, time_text(row.median), va="center", fontsize=8)
    names_at_left(axes, list(look.styles), is_first)
    axes.set_xlim(0, longest * 1.42)
    axes.xaxis.set_major_formatter(FuncFormatter(_time_tick))
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel("time per call", fontsize=9)
    plain(axes)


def _speedup_bars(axes: Axes, timings: Timings, look: Look, is_first: bool) -> None:
    """Draw one point a kernel with its confidence interval beside the line at 1x."""
    rows = {row.kernel: row for row in timings.rows if row.kernel != timings.baseline}
    labels = [label for label in look.styles if label != timings.baseline]
    axes.set_xscale("log")
    low, high = _speedup_ticks(axes.xaxis, timings, 5)
    for place, label in enumerate(labels):
        if label not in rows:
            continue
        row, style = rows[label], look.styles[label]
        if row.speedup_low and row.speedup_high:
            axes.plot([row.speedup_low, row.speedup_high], [place, place], color=style.color, linewidth=3, alpha=0.6)
        axes.plot([row.speedup], [place], marker=style.marker, color=style.color, markersize=5)
        text = f"{three(row.speedup)}x" if row.outcome in ("faster", "slower") else row.finding
        along = math.log(row.speedup / low) / math.log(high / low)
        side = "left" if along < 0.25 else "right" if along > 0.75 else "center"
        axes.annotate(text, (row.speedup, place), (0, 5), textcoords="offset points", ha=side, fontsize=7.5, bbox=WHITE)
    axes.axvline(1, color=BASELINE_COLOUR, linewidth=1, zorder=0)
    names_at_left(axes, labels, is_first)
    axes.set_xlabel(f"speed-up over {timings.baseline}", fontsize=9)
    plain(axes)


def _time_tick(seconds: float, _: Any = None) -> str:
    """Write a time on an axis: `50 µs`, without needless zeros."""
    number, _, unit = time_text(seconds).partition(" ")
    return f"{float(number):g} {unit}" if seconds > 0 else "0"
