"""A picture of a benchmark: times on top, speed-ups with their intervals below, one column a direction.

Nothing here touches pyplot, so there is no global state and no window. Colours are Okabe and Ito's, which colour-blind
readers can tell apart; marker and line style differ as well, so that the picture can be read in grey.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..errors import InputError
from ..run.timing.words import three, time_text
from ..run.timings import Row, Timings

_BASELINE_COLOUR = "#4d4d4d"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = "osD^vPX"
_DASHES: tuple[Any, ...] = ((0, (5, 1.5)), "solid", (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1)), (0, (8, 2)))
_GREY = "#5f6368"
_WHITE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.4}
# Ticks of an axis of ratios, from fine to coarse.
_RATIOS: tuple[tuple[float, ...], ...] = (
    tuple(step / 100 for step in range(80, 122, 2)),
    tuple(step / 100 for step in range(60, 145, 5)),
    (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8),
    (0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2),
    (0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5),
    (0.1, 0.2, 0.5, 1, 2, 5, 10),
    tuple(4.0**power for power in range(-4, 5)),
    tuple(10.0**power for power in range(-6, 7)),
    (1.0,),
)
_TITLES = {"forward": "forward", "backward": "backward", "both": "forward + backward"}


class Plot(Figure):
    """A matplotlib Figure that a notebook shows as a picture, whether or not pyplot was ever imported."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()


@dataclass(frozen=True)
class _Style:
    """How one kernel looks everywhere in the figure."""

    color: str
    marker: str
    linestyle: Any


@dataclass(frozen=True)
class _Look:
    """What all axes share: how each kernel is drawn, where each size stands, and the letter if only one varies."""

    styles: Mapping[str, _Style]
    places: Mapping[tuple[int, ...], float]
    letter: str


def plot(timings: Timings, *, size: tuple[float, float] | None = None) -> Figure:
    """Draw the times of a benchmark, and beneath them the speed-ups over its baseline.

    Several sizes give lines over the size with bands between the quartiles; one size gives bars. Below, bands or bars
    are 99 % confidence intervals; what touches the line at 1x is no finding.

    Args:
        timings: what `benchmark` gave.
        size: width and height in inches; by default it grows with the number of directions.

    Returns:
        A figure; a notebook shows it, `figure.savefig("lltm.png")` or `.svg` keeps it.

    Raises:
        InputError: there are no rows.

    Example:
        >>> from lltm_inline.run.benchmark import benchmark
        >>> t = benchmark(["lltm/python"], [(2, 3, 5), (4, 3, 5)], seconds=0.01, check=False)
        >>> [axes.get_ylabel() for axes in plot(t).axes]
        ['time per call', '', '']
    """
    if not timings.rows:
        raise InputError("nothing was timed: there is nothing to plot")
    directions, styles = timings.directions, _styles(timings)
    look = _Look(styles, *_places(timings))
    lines, compares = len(timings.sizes) > 1, len(styles) > 1
    top = 2.7 if lines else 0.7 + 0.33 * len(styles)
    below = 0.0 if not compares else 1.9 if lines else 0.7 + 0.33 * (len(styles) - 1)
    width = size[0] if size else max(5.2, 1.2 + 3.3 * len(directions))
    head = _Head(timings, styles if lines else {}, width)
    figure = Plot(figsize=size or (width, head.inches + top + below + 0.6 * lines), layout="constrained")
    FigureCanvasAgg(figure)
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
        _axis_of_sizes(timings, look, grid)
        panels = (figure.get_figheight() - head.inches - 0.9) / (top + below)
        _time_ticks(grid[0][0], timings, panels * top)
        if compares:
            _speedup_ticks(grid[1][0].yaxis, timings, panels * below / 0.22)
            over = f"speed-up over\n{timings.baseline}" if panels * below > 1.2 else "speed-up"
            grid[1][0].set_ylabel(over, fontsize=9)
    return figure


def _styles(timings: Timings) -> dict[str, _Style]:
    styles = {}
    others = 0
    for label in timings.kernels:
        if label == timings.baseline:
            styles[label] = _Style(_BASELINE_COLOUR, _MARKERS[0], "solid")
        else:
            styles[label] = _Style(
                _COLOURS[others % len(_COLOURS)],
                _MARKERS[1 + others % (len(_MARKERS) - 1)],
                _DASHES[others % len(_DASHES)],
            )
            others += 1
    return styles


class _Head:
    """Title, conditions and legend above the axes, wrapped to the width of the figure.

    Their height is known in inches before anything is drawn, so that the axes get exactly what is left.
    """

    def __init__(self, timings: Timings, styles: Mapping[str, _Style], width: float) -> None:
        first = timings.rows[0]
        self._title = f"{first.op}, {first.dtype}, {first.device}"
        if len(timings.sizes) == 1:
            self._title += f": {first.size_text.replace(' ', ', ')}"
        self._small = textwrap.wrap(timings.conditions(" · "), max(30, int(width * 15.5)), break_on_hyphens=False)
        self._styles = styles
        widest = max(map(len, styles), default=1)
        self._columns = max(1, min(len(styles), int(width / (0.75 + 0.08 * widest))))
        self._above = 0.36 + 0.15 * len(self._small)
        self.inches = self._above + 0.19 * math.ceil(len(styles) / self._columns)

    def draw(self, figure: Figure) -> None:
        width, height = figure.get_size_inches()
        left = 0.08 / width
        # A constrained layout would put a legend on top of a title: both stand outside of it, at places of their own.
        engine: Any = figure.get_layout_engine()
        engine.set(rect=(0, 0, 1, 1 - self.inches / height))
        figure.text(left, 1 - 0.1 / height, self._title, va="top", fontsize=11, fontweight="bold")
        figure.text(left, 1 - 0.33 / height, "\n".join(self._small), va="top", fontsize=7.5, color=_GREY)
        if self._styles:
            figure.legend(
                handles=[_handle(label, style) for label, style in self._styles.items()], loc="upper left",
                bbox_to_anchor=(left, 1 - self._above / height), ncols=self._columns, fontsize=8.5, frameon=False,
                handlelength=3.2, borderaxespad=0, borderpad=0.1, labelspacing=0.3, columnspacing=1.4,
            ).set_in_layout(False)  # fmt: skip


def _handle(label: str, style: _Style) -> Line2D:
    return Line2D([], [], color=style.color, marker=style.marker, linestyle=style.linestyle, markersize=5, label=label)


def _places(timings: Timings) -> tuple[dict[tuple[int, ...], float], str]:
    """Return where each size stands on the axis, and the letter if sizes differ in one letter only."""
    sizes = timings.sizes
    varying = [letter for letter in sizes[0] if len({size.get(letter) for size in sizes}) > 1]
    if len(varying) == 1 and all(size[varying[0]] > 0 for size in sizes):
        return {tuple(size.values()): float(size[varying[0]]) for size in sizes}, varying[0]
    ordered = sorted(sizes, key=lambda size: (_work(timings, size), *size.values()))
    return {tuple(size.values()): float(index) for index, size in enumerate(ordered)}, ""


def _work(timings: Timings, size: Mapping[str, int]) -> float:
    """Order sizes by how long the baseline takes in all."""
    return sum(row.median for row in timings.select(size=size, kernel=timings.baseline).rows)


def _axis_of_sizes(timings: Timings, look: _Look, grid: Any) -> None:
    """Label the sizes: numbers of the one letter that varies, else all numbers one below the other."""
    letter, first, at = look.letter, timings.sizes[0], list(look.places.values())
    for axes in grid[-1]:
        if letter:
            fixed = ", ".join(f"{name} = {number}" for name, number in first.items() if name != letter)
            axes.set_xlabel(f"{letter}  ({fixed})" if fixed else letter, fontsize=9)
            texts = [str(int(number)) for number in at]
        else:
            axes.set_xlabel(f"size: {', '.join(first)} from top to bottom", fontsize=9)
            texts = ["\n".join(map(str, size)) for size in look.places]
        axes.xaxis.set_major_locator(FixedLocator(at))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(at, texts, fontsize=8)


def _curves(axes: Axes, timings: Timings, look: _Look, values: Callable[[Row], Sequence[float | None]]) -> None:
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


def _time_lines(axes: Axes, timings: Timings, look: _Look, is_first: bool) -> None:
    axes.set_yscale("log")
    _curves(axes, timings, look, lambda row: (row.median, row.q1, row.q3))
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.7)
    _plain(axes)
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


def _speedup_lines(axes: Axes, timings: Timings, look: _Look, _: bool) -> None:
    axes.set_yscale("log")
    others = {label: style for label, style in look.styles.items() if label != timings.baseline}
    _curves(axes, timings, replace(look, styles=others), lambda row: (row.speedup, row.speedup_low, row.speedup_high))
    axes.axhline(1, color=_BASELINE_COLOUR, linewidth=1)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.7)
    _plain(axes)


def _speedup_ticks(axis: Any, timings: Timings, most: float) -> tuple[float, float]:
    """Put round factors on an axis of ratios, at most so many, with 1 among them; return its ends."""
    rows = [row for row in timings.rows if row.kernel != timings.baseline]
    ends = [end for row in rows for end in (row.speedup, row.speedup_low, row.speedup_high) if end]
    low, high = min([0.97, *ends]), max([1.03, *ends])
    pad = (high / low) ** 0.08
    low, high = low / pad, high * pad
    choices = [[tick for tick in ticks if low <= tick <= high] for ticks in _RATIOS]
    ticks = max((ticks for ticks in choices if len(ticks) <= max(3.0, most)), key=len)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}x"))
    (axis.axes.set_ylim if axis.axis_name == "y" else axis.axes.set_xlim)(low, high)
    return low, high


def _time_bars(axes: Axes, timings: Timings, look: _Look, is_first: bool) -> None:
    """Draw one bar a kernel with a whisker between the quartiles, and its time written beside it."""
    rows = {row.kernel: row for row in timings.rows}
    longest = max(row.q3 for row in timings.rows)
    for place, (label, style) in enumerate(look.styles.items()):
        if label not in rows:
            continue
        row = rows[label]
        axes.barh(place, row.median, height=0.62, color=style.color, alpha=0.85)
        axes.plot([row.q1, row.q3], [place, place], color="black", linewidth=1.2)
        axes.text(row.q3 + longest * 0.03, place, time_text(row.median, micro="µs"), va="center", fontsize=8)
    _names_at_left(axes, list(look.styles), is_first)
    axes.set_xlim(0, longest * 1.42)
    axes.xaxis.set_major_formatter(FuncFormatter(_time_tick))
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel("time per call", fontsize=9)
    _plain(axes)


def _speedup_bars(axes: Axes, timings: Timings, look: _Look, is_first: bool) -> None:
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
        text = {"same": "no measurable difference", "unknown": "too few rounds"}.get(
            row.outcome, f"{three(row.speedup)}x"
        )
        along = math.log(row.speedup / low) / math.log(high / low)
        side = "left" if along < 0.25 else "right" if along > 0.75 else "center"
        axes.annotate(
            text, (row.speedup, place), (0, 5), textcoords="offset points", ha=side, fontsize=7.5, bbox=_WHITE
        )
    axes.axvline(1, color=_BASELINE_COLOUR, linewidth=1, zorder=0)
    _names_at_left(axes, labels, is_first)
    axes.set_xlabel(f"speed-up over {timings.baseline}", fontsize=9)
    _plain(axes)


def _names_at_left(axes: Axes, labels: Sequence[str], is_first: bool) -> None:
    axes.set_ylim(len(labels) - 0.45, -0.65)
    axes.set_yticks(range(len(labels)), list(labels), fontsize=8.5)
    axes.tick_params(axis="y", length=0, labelleft=is_first)


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _time_tick(seconds: float, _: Any = None) -> str:
    """Write a time on an axis: `50 µs`, without needless zeros."""
    number, _, unit = time_text(seconds, micro="µs").partition(" ")
    return f"{float(number):g} {unit}" if seconds > 0 else "0"
