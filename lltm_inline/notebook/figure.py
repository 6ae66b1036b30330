"""What every picture has: how kernels look, the head with title and conditions, and the axis of sizes.

Nothing here touches pyplot, so there is no global state and no window. Colours are Okabe and Ito's, which colour-blind
readers can tell apart; marker and line style differ as well, so that the picture can be read in grey.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from ..arguments import refusal
from ..show import image, page

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
        words: what it shows, for who does not see it.
    """

    words: str = "a plot"

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()

    def _repr_html_(self) -> str:
        # The ground is white; on a dark page the style sheet turns light and dark round, and leaves the hues.
        return page(image("image/png", self._repr_png_(), self.words))


@dataclass(frozen=True)
class Style:
    """How one kernel looks everywhere in the figure."""

    color: str
    marker: str
    linestyle: Any


@dataclass(frozen=True)
class Look:
    """What all axes share: how each kernel is drawn, where each size stands, and the letter if only one varies."""

    styles: Mapping[str, Style]
    places: Mapping[tuple[int, ...], float]
    letter: str


def require_inches(size: Any) -> None:
    """Refuse a figure's size that is not a pair of numbers of inches.

    Raises:
        InputError: so.
    """
    want = f"(width, height) in inches, each from {_INCHES[0]:g} to {_INCHES[1]:g}"
    if size is None:
        return
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise refusal("size", size, want)
    for inches in size:
        if not isinstance(inches, int | float) or isinstance(inches, bool) or not _INCHES[0] <= inches <= _INCHES[1]:
            raise refusal("size", size, want)


def styles_of(kernels: Sequence[str], baseline: str) -> dict[str, Style]:
    """Give each kernel a look of its own; the baseline is always the grey one."""
    styles = {}
    others = 0
    for label in kernels:
        if label == baseline:
            styles[label] = Style(BASELINE_COLOUR, _MARKERS[0], "solid")
        else:
            styles[label] = Style(
                _COLOURS[others % len(_COLOURS)],
                _MARKERS[1 + others % (len(_MARKERS) - 1)],
                _DASHES[others % len(_DASHES)],
            )
            others += 1
    return styles


class Head:
    """Title, conditions and legend above the axes, wrapped to the width of the figure.

    Their height is known in inches before anything is drawn, so that the axes get exactly what is left.

    Args:
        title: one line.
        conditions: what the figures depend on; wrapped.
        styles: of the kernels in the legend; none leaves it out.
        width: of the figure in inches.
    """

    def __init__(self, title: str, conditions: str, styles: Mapping[str, Style], width: float) -> None:
        self._title = title
        self._small = textwrap.wrap(conditions, max(30, int(width * 15.5)), break_on_hyphens=False)
        self._styles = styles
        widest = max(map(len, styles), default=1)
        self._columns = max(1, min(len(styles), int(width / (0.75 + 0.08 * widest))))
        self._above = 0.36 + 0.15 * len(self._small)
        self.inches = self._above + 0.19 * math.ceil(len(styles) / self._columns)

    def draw(self, figure: Figure) -> None:
        """Write the head, and keep the axes below it."""
        width, height = figure.get_size_inches()
        left = 0.08 / width
        # A constrained layout would put a legend on top of a title: both stand outside of it, at places of their own.
        engine: Any = figure.get_layout_engine()
        engine.set(rect=(0, 0, 1, 1 - self.inches / height))
        figure.text(left, 1 - 0.1 / height, self._title, va="top", fontsize=11, fontweight="bold")
        figure.text(left, 1 - 0.33 / height, "\n".join(self._small), va="top", fontsize=7.5, color=GREY)
        if self._styles:
            figure.legend(
                handles=[handle(label, style) for label, style in self._styles.items()], loc="upper left",
                bbox_to_anchor=(left, 1 - self._above / height), ncols=self._columns, fontsize=8.5, frameon=False,
                handlelength=3.2, borderaxespad=0, borderpad=0.1, labelspacing=0.3, columnspacing=1.4,
            ).set_in_layout(False)  # fmt: skip


def handle(label: str, style: Style) -> Line2D:
    """Make the entry of a legend."""
    return Line2D([], [], color=style.color, marker=style.marker, linestyle=style.linestyle, markersize=5, label=label)


def places_of(
    sizes: Sequence[Mapping[str, int]], work: Callable[[Mapping[str, int]], float]
) -> tuple[dict[tuple[int, ...], float], str]:
    """Return where each size stands on the axis, and the letter if sizes differ in one letter only.

    Other sizes stand side by side in the order of `work(size)`.
    """
    varying = [letter for letter in sizes[0] if len({size.get(letter) for size in sizes}) > 1]
    if len(varying) == 1 and all(size[varying[0]] > 0 for size in sizes):
        return {tuple(size.values()): float(size[varying[0]]) for size in sizes}, varying[0]
    ordered = sorted(sizes, key=lambda size: (work(size), *size.values()))
    return {tuple(size.values()): float(index) for index, size in enumerate(ordered)}, ""


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
        axes.xaxis.set_major_locator(FixedLocator(at))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(at, texts, fontsize=8)


def names_at_left(axes: Axes, labels: Sequence[str], is_first: bool) -> None:
    """Write the kernels beside their bars, in the first column only."""
    axes.set_ylim(len(labels) - 0.45, -0.65)
    axes.set_yticks(range(len(labels)), list(labels), fontsize=8.5)
    axes.tick_params(axis="y", length=0, labelleft=is_first)


def plain(axes: Axes) -> None:
    """Take away what carries no data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
