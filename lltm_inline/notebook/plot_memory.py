"""A picture of memory: bytes held for backward on the left, the peak on the right, over sizes or as bars.

The axes start at zero, so heights can be compared by eye. Where a kernel keeps anything but its outputs, a thin dotted line
shows how much of what is held are the outputs, which no kernel can do without.
"""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from ..arguments import refusal
from ..errors import InputError
from ..run.footprint import Memory, bytes_text
from ..run.timing.words import three
from .figure import (
    GREY,
    RULE,
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

_TITLES = {"held": "held for backward", "peak": "peak, forward + backward"}


def plot_memory(memory: Memory, *, size: tuple[float, float] | None = None) -> Figure:
    """Draw the bytes held for backward and the peak of each kernel.

    Several sizes give lines over the size; one size gives bars with their bytes and the ratio to the baseline.

    Args:
        memory: what `memory` gave.
        size: width and height in inches.

    Returns:
        A figure; a notebook shows it, `figure.savefig("memory.png")` or `.svg` keeps it.

    Raises:
        InputError: there are no rows, or a size that no figure can have.

    Example:
        >>> from lltm_inline.run.memory import memory
        >>> m = memory(["lltm/python"], [(2, 3, 5), (4, 3, 5)], check=False, progress=False)
        >>> [axes.get_title(loc="left") for axes in plot_memory(m).axes]
        ['held for backward', 'peak, forward + backward']
    """
    if not isinstance(memory, Memory):
        raise refusal("memory", memory, "what memory gave")
    require_inches(size)
    if not memory.rows:
        raise InputError("nothing was measured: there is nothing to plot")
    styles = styles_of(memory.kernels, memory.baseline)
    lines = len(memory.sizes) > 1
    look = Look(styles, *places_of(memory.sizes, lambda size: sum(row.peak for row in memory.select(size=size).rows)))
    width = size[0] if size else 7.8
    title = memory.title if lines else f"{memory.title}: {memory.rows[0].size_text.replace(' ', ', ')}"
    what = f"bytes above inputs and parameters · {memory.conditions(' · ')}"
    head = Head(title, what, styles if lines else {}, width)
    panels = 3.0 if lines else 0.7 + 0.33 * len(styles)
    figure = Plot(figsize=size or (width, head.inches + panels + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.words = f"{title}. {memory.verdict()}"
    left, right = figure.subplots(1, 2)
    head.draw(figure)
    for axes, column in ((left, "held"), (right, "peak")):
        axes.set_title(_TITLES[column], fontsize=10, loc="left")
        (_lines if lines else _bars)(axes, memory, look, column)
        plain(axes)
    if lines:
        axis_of_sizes(memory.sizes[0], look, (left, right))
        _thin_out(look, (left, right))
    return figure


def _lines(axes: Axes, memory: Memory, look: Look, column: str) -> None:
    """Draw a line for each kernel, and write its ratio to the baseline at the largest size."""
    most = max(getattr(row, column) for row in memory.rows) or 1
    ends = []
    for label, style in look.styles.items():
        rows = sorted(memory.select(kernel=label).rows, key=lambda row: look.places[tuple(row.size.values())])
        at = [look.places[tuple(row.size.values())] for row in rows]
        axes.plot(
            at, [getattr(row, column) for row in rows], color=style.color, marker=style.marker,
            linestyle=style.linestyle, markersize=4.5, linewidth=1.5,
        )  # fmt: skip
        ratio = memory.ratio(rows[-1], column)
        if ratio is not None and label != memory.baseline:
            ends.append((at[-1], getattr(rows[-1], column), f"{three(ratio)}x", style.color))
    height = -math.inf
    for place, value, text, color in sorted(ends, key=lambda end: end[1]):
        height = max(value, height + 0.06 * most)  # lines that meet keep their labels apart
        axes.annotate(
            text, (place, height), (6, 0), textcoords="offset points", va="center", fontsize=8, color=color
        )  # fmt: skip
    if column == "held":
        _outputs(axes, memory, look)
    axes.margins(x=0.04)
    axes.set_xlim(right=max(look.places.values()) * 1.14 if look.letter else None)
    _from_zero(axes.yaxis, most * 1.08)
    axes.grid(axis="y", color=RULE, linewidth=0.7)


def _thin_out(look: Look, row: tuple[Axes, ...]) -> None:
    """Leave out the numbers of sizes that stand too near to the next larger one to be read."""
    if not look.letter:
        return
    kept: list[float] = []
    for place in sorted(look.places.values(), reverse=True):
        if not kept or kept[-1] - place > 0.07 * max(look.places.values()):
            kept.append(place)
    for axes in row:
        axes.set_xticks(kept, [f"{place:.0f}" for place in kept], fontsize=8)


def _outputs(axes: Axes, memory: Memory, look: Look) -> None:
    """Show how much of what is held are the outputs: the same for every kernel."""
    rows = sorted(memory.select(kernel=memory.kernels[0]).rows, key=lambda row: look.places[tuple(row.size.values())])
    at = [look.places[tuple(row.size.values())] for row in rows]
    axes.plot(at, [row.outputs for row in rows], color=GREY, linestyle=(0, (1, 2)), linewidth=1)
    axes.annotate(
        "outputs", (at[-1], rows[-1].outputs), (-2, 4), textcoords="offset points", ha="right", fontsize=7.5, color=GREY
    )  # fmt: skip


def _bars(axes: Axes, memory: Memory, look: Look, column: str) -> None:
    """Draw one bar a kernel, with its bytes and its ratio to the baseline beside it."""
    rows = {row.kernel: row for row in memory.rows}
    most = max(getattr(row, column) for row in memory.rows) or 1
    for place, (label, style) in enumerate(look.styles.items()):
        row = rows[label]
        value, ratio = getattr(row, column), memory.ratio(row, column)
        axes.barh(place, value, height=0.62, color=style.color, alpha=0.85)
        if column == "held":  # the outputs' part, fainter
            axes.barh(place, row.outputs, height=0.62, color="white", alpha=0.45)
        text = bytes_text(value) + (f", {three(ratio)}x" if ratio is not None and label != memory.baseline else "")
        axes.text(value + most * 0.03, place, text, va="center", fontsize=8)
    names_at_left(axes, list(look.styles), column == "held")
    _from_zero(axes.xaxis, most * 1.62)
    axes.set_xlabel("fainter: the outputs" if column == "held" else "", fontsize=8, color=GREY)


def _from_zero(axis: Any, most: float) -> None:
    """Let an axis of bytes start at zero, with round numbers of one unit on it."""
    unit, name = (2**20, "MiB") if most >= 2**20 / 2 else (2**10, "KiB")
    ticks = [tick * unit for tick in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, most / unit)]
    axis.set_major_locator(FixedLocator([tick for tick in ticks if 0 <= tick <= most]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit:g} {name}" if value else "0"))
    (axis.axes.set_ylim if axis.axis_name == "y" else axis.axes.set_xlim)(0, most)
