"""What every picture has: how kernels look, the head with title and conditions, and the axis of sizes.

Nothing here touches pyplot, so there is no global state and no window. Colours are Okabe and Ito's, which colour-blind
readers can tell apart; marker and line style differ as well, so that the picture can be read in grey.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..base.arguments import refusal
from ..show.parts import image, page
from ..tables.table import BaseRow, Table
from ..tables.words import time_text

#: The smallest and largest figure in inches; a kernel's panel fits into the one, and memory holds the other.
_INCHES = (1.0, 100.0)
BASELINE_COLOUR = "#4d4d4d"
GREY = "#5f6368"
RULE = "#e4e4e4"
WHITE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.4}
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = "osD^vPX"
_DASHES: tuple[Any, ...] = ((0, (5, 1.5)), "solid", (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1)), (0, (8, 2)))


class Plot(Figure):
    """A matplotlib Figure that a notebook shows as a picture, whether or not pyplot was ever imported.

    Attributes:
        words: what it shows, for readers who cannot see it.
        below: inches of its height that are below the head.
    """

    words: str = "a plot"
    below: float = 0.0

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()

    def _repr_html_(self) -> str:
        # The ground is white; on a dark page the style sheet turns light and dark round, and leaves the hues.
        return page(image("image/png", self._repr_png_(), self.words))


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


@dataclass(frozen=True)
class Style:
    """How one kernel looks everywhere in the figure, by the names that matplotlib has for it."""

    color: str
    marker: str
    linestyle: Any


@dataclass(frozen=True)
class Look:
    """What all axes share: how each kernel is drawn, where each size stands, and the letter if only one varies."""

    styles: Mapping[str, Style]
    places: Mapping[tuple[int, ...], float]
    letter: str

    @classmethod
    def of(cls, table: Table[Any], work: Callable[[Mapping[str, int]], float]) -> Look:
        """Give each kernel of a table a style, and each size a place: its one letter that varies, else the order of `work(size)`."""
        sizes, styles = table.sizes, styles_of(table.kernels, table.baseline)
        varying = [letter for letter in sizes[0] if len({size.get(letter) for size in sizes}) > 1]
        if len(varying) == 1 and all(size[varying[0]] > 0 for size in sizes):
            return cls(styles, {tuple(size.values()): float(size[varying[0]]) for size in sizes}, varying[0])
        ordered = sorted(sizes, key=lambda size: (work(size), *size.values()))
        return cls(styles, {tuple(size.values()): float(index) for index, size in enumerate(ordered)}, "")

    def along(self, table: Table[Any], label: str) -> tuple[list[Any], list[float]]:
        """Return the rows of a kernel from left to right, and where they stand."""
        rows = sorted(table.select(kernel=label).rows, key=self._place)
        return rows, [self._place(row) for row in rows]

    def bars(self, table: Table[Any]) -> list[tuple[int, Any, Style]]:
        """Return for each kernel that has a row where its bar stands, its row and its style."""
        rows = {row.kernel: row for row in table.rows}
        return [(place, rows[label], self.styles[label]) for place, label in enumerate(self.styles) if label in rows]

    def without(self, label: str) -> Look:
        """Leave a kernel out: the baseline has no speed-up."""
        return replace(self, styles={other: style for other, style in self.styles.items() if other != label})

    def _place(self, row: BaseRow) -> float:
        return self.places[tuple(row.size.values())]


def open_figure(
    title: str,
    conditions: str,
    words: str,
    *,
    styles: Mapping[str, Style] = MappingProxyType({}),
    inches: tuple[float, float],
    size: tuple[float, float] | None = None,
) -> Plot:
    """Make a figure with title, conditions and legend, wrapped to its width, and nothing below them yet.

    Args:
        title: one line.
        conditions: what the figures depend on; wrapped.
        words: what it shows, for readers who cannot see it.
        styles: of the kernels in the legend; none leaves it out.
        inches: width of the figure, and height of all below the head.
        size: width and height that are wanted instead.
    """
    width = size[0] if size else inches[0]
    small = textwrap.wrap(conditions, max(30, int(width * 15.5)), break_on_hyphens=False)
    columns = max(1, min(len(styles), int(width / (0.75 + 0.08 * max(map(len, styles), default=1)))))
    # The height of the head is known before anything is drawn, so that the axes get exactly what is left.
    above = 0.36 + 0.15 * len(small)
    head = above + 0.19 * math.ceil(len(styles) / columns)
    figure = Plot(figsize=size or (width, head + inches[1]), layout="constrained")
    FigureCanvasAgg(figure)
    height = figure.get_figheight()
    figure.words, figure.below = words, height - head
    # A constrained layout would put a legend on top of a title: both stand outside of it, at places of their own.
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 1, 1 - head / height))
    left = 0.08 / width
    figure.text(left, 1 - 0.1 / height, title, va="top", fontsize=11, fontweight="bold")
    figure.text(left, 1 - 0.33 / height, "\n".join(small), va="top", fontsize=7.5, color=GREY)
    if styles:
        figure.legend(
            handles=[Line2D([], [], markersize=5, label=label, **vars(style)) for label, style in styles.items()], loc="upper left",
            bbox_to_anchor=(left, 1 - above / height), ncols=columns, fontsize=8.5, frameon=False,
            handlelength=3.2, borderaxespad=0, borderpad=0.1, labelspacing=0.3, columnspacing=1.4,
        ).set_in_layout(False)  # fmt: skip
    return figure


def require_inches(size: Any) -> None:
    """Refuse a figure's size that is not a pair of numbers of inches."""
    given = size if isinstance(size, tuple | list) else ()
    known = [inches for inches in given if isinstance(inches, int | float) and not isinstance(inches, bool)]
    fits = len(given) == len(known) == 2 and all(_INCHES[0] <= inches <= _INCHES[1] for inches in known)
    if size is not None and not fits:
        raise refusal("size", size, f"(width, height) in inches, each from {_INCHES[0]:g} to {_INCHES[1]:g}")


def styles_of(kernels: Sequence[str], baseline: str) -> dict[str, Style]:
    """Give each kernel a look of its own; the baseline is always the grey one.

    Example:
        >>> styles = styles_of(list("abcdefghijklmnopqrstuvwxyz"), "a")
        >>> len({(style.color, style.marker) for style in styles.values()})
        26
    """
    styles = {}
    for number, label in enumerate(label for label in kernels if label != baseline):
        marker = _MARKERS[1 + (number + number // len(_COLOURS)) % (len(_MARKERS) - 1)]
        styles[label] = Style(_COLOURS[number % len(_COLOURS)], marker, _DASHES[number % len(_DASHES)])
    return {label: styles.get(label, Style(BASELINE_COLOUR, _MARKERS[0], "solid")) for label in kernels}


def axis_of_sizes(first: Mapping[str, int], look: Look, row: Sequence[Axes]) -> None:
    """Label the sizes: numbers of the one letter that varies, else all numbers one below the other."""
    letter, at = look.letter, list(look.places.values())
    for axes in row:
        if letter:
            fixed = ", ".join(f"{name} = {number}" for name, number in first.items() if name != letter)
            axes.set_xlabel(f"{letter}  ({fixed})" if fixed else letter, fontsize=9)
            texts = [str(int(number)) for number in at]
        else:
            axes.set_xlabel(f"size: {', '.join(first)} from top to bottom", fontsize=9)
            texts = ["\n".join(map(str, size)) for size in look.places]
        set_ticks(axes.xaxis, at)
        axes.set_xticks(at, texts, fontsize=8)


def set_ticks(
    axis: Any,
    ticks: Sequence[float],
    write: Callable[[float], str] | None = None,
    ends: tuple[float, float] | None = None,
) -> None:
    """Put ticks on an axis, with texts that `write` makes of them, and say where it ends."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    if write is not None:
        axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    if ends is not None:
        (axis.axes.set_ylim if axis.axis_name == "y" else axis.axes.set_xlim)(*ends)


def ratio_ticks(axis: Any, ratios: Sequence[float], most: float) -> tuple[float, float]:
    """Put round factors on an axis of ratios, 1 among them, as close as places for `most` labels allow; return its ends."""
    low, high = min([0.97, *ratios]), max([1.03, *ratios])
    pad = (high / low) ** 0.08
    low, high = low / pad, high * pad
    choices = [[tick for tick in ticks if low <= tick <= high] for ticks in _RATIOS]
    closest = _LABEL_SHARE / max(3.0, most) * math.log(high / low)
    ticks = min((ticks for ticks in choices if min(_gaps(ticks), default=math.inf) >= closest),
                key=lambda ticks: max(_gaps([low, *ticks, high])))  # fmt: skip
    set_ticks(axis, ticks, lambda value: f"{value:.3g}x", (low, high))
    return low, high


def time_ticks(axes: Axes, low: float, high: float, inches: float) -> None:
    """Put as many round times on a logarithmic axis as there is room for, four to the inch at most."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    pad = (high / low) ** 0.07 * 1.03
    low, high = low / pad, high * pad
    for steps in ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        if len(ticks) <= max(2.0, inches / 0.25):
            break
    set_ticks(axes.yaxis, ticks, time_tick, (low, high))


def time_tick(seconds: float) -> str:
    """Write a time on an axis: `50 µs`, without needless zeros."""
    number, _, unit = time_text(seconds).partition(" ")
    return f"{float(number):g} {unit}" if seconds > 0 else "0"


def _gaps(ticks: Sequence[float]) -> list[float]:
    """Return how far ticks of a logarithmic axis are from each other."""
    return [math.log(after / before) for before, after in pairwise(ticks)]


def names_at_left(axes: Axes, labels: Sequence[str], is_first: bool) -> None:
    """Write the kernels beside their bars, in the first column only."""
    axes.set_ylim(len(labels) - 0.45, -0.65)
    axes.set_yticks(range(len(labels)), list(labels), fontsize=8.5)
    axes.tick_params(axis="y", length=0, labelleft=is_first)


def plain(axes: Axes, *, rules: bool = False) -> None:
    """Take away what carries no data; where lines are drawn, faint rules help the eye along."""
    if rules:
        axes.grid(axis="y", color=RULE, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
