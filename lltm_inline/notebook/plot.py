"""Pictures of a benchmark, of a measurement of memory and of a sweep; those of counts and of a trace are in `access`, that of a
roofline is in `roofs`.

A benchmark has times on top and speed-ups with their intervals below, one column a direction: lines over the sizes, or bars where
there is one size. Memory has the bytes held for backward on the left and the peak on the right, likewise. A sweep over one param
gives a line over its values, over two a heat map with the numbers written in. What all have in common is in `figure`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..analysis.roofline import Roofline
from ..base.arguments import refusal
from ..errors import InputError
from ..tables.counts import Counts
from ..tables.memory import Memory
from ..tables.sweep import Sweep
from ..tables.table import Table
from ..tables.timings import TITLES, Row, Timings
from ..tables.trace import Trace
from ..tables.words import NOISE_FLOOR, bytes_text, three, time_text
from .access import plot_counts, plot_trace
from .figure import (
    BASELINE_COLOUR,
    GREY,
    RULE,
    WHITE,
    Look,
    axis_of_sizes,
    names_at_left,
    open_figure,
    plain,
    ratio_ticks,
    require_inches,
    set_ticks,
    time_tick,
    time_ticks,
)
from .roofs import plot_roofline

_BLUE = "#0072B2"
_MAP = "RdBu"
#: The scale of colours reaches at least so far: else the noise of a sweep without findings would be as bright as a finding.
_LEAST_REACH = 1.25
#: How much of its colour a point has, by what was found: none where too few rounds tell nothing.
_SHARES = {"faster": 1.0, "slower": 1.0, "same": 0.35, "unknown": 0.0}


def plot(
    timings: Timings | Memory | Sweep | Counts | Trace | Roofline, *, size: tuple[float, float] | None = None
) -> Figure:
    """Draw the times of a benchmark, and below them the speed-ups over its baseline; or memory, a sweep, counts and so on.

    Several sizes give lines over the size, with bands between the quartiles; one size gives bars. In the lower plot, bands
    or bars are 99 % confidence intervals; one that touches the line at 1x shows no difference. Memory is drawn in the same
    way: the bytes that each kernel holds for backward, and the peak. A sweep is a line over one param, or a heat map over
    two. Counts show for each line which thread of a warp wants which address, a trace which thread touches which element
    when. A roofline shows the operations per second of each kernel over its operations per byte, with what the machine can
    do above.

    Args:
        timings: what `benchmark`, `memory`, `sweep`, `counts`, `trace` or `roofline` returned.
        size: width and height in inches; by default it grows with the number of directions.

    Returns:
        A figure; a notebook shows it, `figure.savefig("lltm.png")` or `.svg` saves it.

    Raises:
        InputError: there are no rows, no point of the sweep could be timed, or no figure can have this size.

    Example:
        >>> from lltm_inline.measure.benchmark import benchmark
        >>> t = benchmark(["lltm/python"], [(2, 3, 5), (4, 3, 5)], seconds=0.01, check=False)
        >>> [axes.get_ylabel() for axes in plot(t).axes]
        ['time per call', '', '']
        >>> from lltm_inline.measure.memory import memory
        >>> m = memory(["lltm/python"], [(2, 3, 5), (4, 3, 5)], check=False, progress=False)
        >>> [axes.get_title(loc="left") for axes in plot(m).axes]
        ['held for backward', 'peak, forward + backward']
        >>> from lltm_inline.measure.sweep import sweep
        >>> swept = sweep("lltm/fused", {"GRAIN": [1024, 2048]}, (2, 3, 5), seconds=0.01, progress=False)
        >>> plot(swept).axes[0].get_xlabel()
        'GRAIN'
    """
    require_inches(size)
    ways: tuple[tuple[type, Callable[..., Figure]], ...] = (
        (Timings, _plot_timings), (Memory, _plot_memory), (Sweep, _plot_sweep),
        (Counts, plot_counts), (Trace, plot_trace), (Roofline, plot_roofline),
    )  # fmt: skip
    for kind, draw in ways:
        if isinstance(timings, kind):
            return draw(timings, size)
    raise refusal("timings", timings, "what benchmark, memory, sweep, counts, trace or roofline gave")


def _plot_timings(timings: Timings, size: tuple[float, float] | None) -> Figure:
    if not timings.rows:
        raise InputError("nothing was timed: there is nothing to plot")
    baseline = timings.select(kernel=timings.baseline)  # sizes stand in the order of how long it takes in all
    look = Look.of(timings, lambda size: sum(row.median for row in baseline.select(size=size).rows))
    directions = timings.directions
    lines, compares = len(timings.sizes) > 1, len(look.styles) > 1
    top = 2.7 if lines else 0.7 + 0.33 * len(look.styles)
    below = 0.0 if not compares else 1.9 if lines else 0.7 + 0.33 * (len(look.styles) - 1)
    title = _title(timings)
    conditions = " · ".join(filter(None, [timings.conditions(" · "), timings.crowd]))
    words, styles = f"times per call of {title}. {timings.verdict()}", look.styles if lines else {}
    inches = (max(5.2, 1.2 + 3.3 * len(directions)), top + below + 0.6 * lines)
    figure = open_figure(title, conditions, words, styles=styles, inches=inches, size=size)
    grid = figure.subplots(
        2 if compares else 1, len(directions), squeeze=False, sharex="col" if lines else False, sharey="row",
        height_ratios=[top, below] if compares else None,
    )  # fmt: skip
    if lines and look.letter:
        for axes in grid.flat:
            axes.set_xscale("log", base=2)
    for column, direction in enumerate(directions):
        part = timings.select(direction=direction)
        grid[0][column].set_title(TITLES[direction], fontsize=10, loc="left")
        if not lines:
            _time_bars(grid[0][column], part, look, column == 0)
            if compares:
                _speedup_bars(grid[1][column], part, look.without(timings.baseline), column == 0)
            continue
        _curves(grid[0][column], part, look, lambda row: (row.median, row.q1, row.q3))
        if compares:
            _curves(grid[1][column], part, look.without(timings.baseline), _ratio)
            grid[1][column].axhline(1, color=BASELINE_COLOUR, linewidth=1)
    if lines:
        axis_of_sizes(timings.sizes[0], look, grid[-1])
        grid[0][0].set_ylabel("time per call", fontsize=9)
        panels = (figure.below - 0.9) / (top + below)
        ends = min(row.q1 for row in timings.rows), max(row.q3 for row in timings.rows)
        time_ticks(grid[0][0], *ends, panels * top)
        if compares:
            ratio_ticks(grid[1][0].yaxis, _speedups(timings), panels * below / 0.22)
            over = f"speed-up over\n{timings.baseline}" if panels * below > 1.2 else "speed-up"
            grid[1][0].set_ylabel(over, fontsize=9)
    return figure


def _title(table: Table[Any]) -> str:
    first = table.rows[0]
    return first.subject + (f": {first.size_text.replace(' ', ', ')}" if len(table.sizes) == 1 else "")


def _curves(axes: Axes, timings: Timings, look: Look, values: Callable[[Row], Sequence[float | None]]) -> None:
    """Draw for each kernel a line through the first value of its rows, and a band between the other two."""
    axes.set_yscale("log")
    for label, style in look.styles.items():
        rows, at = look.along(timings, label)
        if not rows:
            continue
        middle, low, high = zip(*(values(row) for row in rows), strict=True)
        axes.plot(at, middle, markersize=4.5, linewidth=1.5, **vars(style))
        known = [(x, lower, upper) for x, lower, upper in zip(at, low, high, strict=True) if lower and upper]
        if known:
            xs, lowers, uppers = zip(*known, strict=True)
            axes.fill_between(xs, lowers, uppers, color=style.color, alpha=0.2, linewidth=0)
    plain(axes, rules=True)


def _speedups(timings: Timings) -> list[float]:
    """Return the speed-ups of all kernels but the baseline, and the ends of their intervals, of which something can be told."""
    rows = [row for row in timings.rows if row.kernel != timings.baseline and row.outcome != "unknown"]
    return [end for row in rows for end in (row.speedup, row.speedup_low, row.speedup_high) if end]


def _ratio(row: Row) -> tuple[float, float | None, float | None]:
    """Return what is drawn of a speed-up: nothing where nothing can be told, as a line through noise is a zigzag."""
    return (math.nan, None, None) if row.outcome == "unknown" else (row.speedup, row.speedup_low, row.speedup_high)


def _time_bars(axes: Axes, timings: Timings, look: Look, is_first: bool) -> None:
    """Draw one bar a kernel with a whisker between the quartiles, and its time written beside it."""
    longest = max(row.q3 for row in timings.rows)
    for place, row, style in look.bars(timings):
        axes.barh(place, row.median, height=0.62, color=style.color, alpha=0.85)
        axes.plot([row.q1, row.q3], [place, place], color="black", linewidth=1.2)
        axes.text(row.q3 + longest * 0.03, place, time_text(row.median), va="center", fontsize=8)
    names_at_left(axes, list(look.styles), is_first)
    axes.set_xlim(0, longest * 1.42)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: time_tick(seconds)))
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel("time per call", fontsize=9)
    plain(axes)


def _speedup_bars(axes: Axes, timings: Timings, look: Look, is_first: bool) -> None:
    """Draw one point a kernel with its confidence interval beside the line at 1x."""
    axes.set_xscale("log")
    low, high = ratio_ticks(axes.xaxis, _speedups(timings), 5)
    for place, row, style in look.bars(timings):
        at, low_end, high_end = _ratio(row)
        if low_end and high_end:
            axes.plot([low_end, high_end], [place, place], color=style.color, linewidth=3, alpha=0.6)
        axes.plot([at], [place], marker=style.marker, color=style.color, markersize=5)
        text = f"{three(row.speedup)}x" if row.outcome in ("faster", "slower") else row.finding
        at = 1.0 if math.isnan(at) else at
        along = math.log(at / low) / math.log(high / low)
        side = "left" if along < 0.25 else "right" if along > 0.75 else "center"
        axes.annotate(text, (at, place), (0, 5), textcoords="offset points", ha=side, fontsize=7.5, bbox=WHITE)
    axes.axvline(1, color=BASELINE_COLOUR, linewidth=1, zorder=0)
    names_at_left(axes, list(look.styles), is_first)
    axes.set_xlabel(f"speed-up over {timings.baseline}", fontsize=9)
    plain(axes)


def _plot_memory(memory: Memory, size: tuple[float, float] | None) -> Figure:
    """Draw the bytes held for backward and the peak of each kernel.

    The axes start at zero, so heights can be compared by eye. Where a kernel keeps anything but its outputs, a thin dotted line
    shows how much of what is held are the outputs, which no kernel can do without.
    """
    if not memory.rows:
        raise InputError("nothing was measured: there is nothing to plot")
    lines = len(memory.sizes) > 1
    look = Look.of(memory, lambda size: sum(row.peak for row in memory.select(size=size).rows))
    title = _title(memory)
    conditions = f"bytes above inputs and parameters · {memory.conditions(' · ')}"
    inches = (7.8, 3.5 if lines else 1.2 + 0.33 * len(look.styles))
    styles = look.styles if lines else {}
    figure = open_figure(title, conditions, f"{title}. {memory.verdict()}", styles=styles, inches=inches, size=size)
    panels = figure.subplots(1, 2)
    titles = {"held": "held for backward", "peak": "peak, forward + backward"}
    for axes, (column, heading) in zip(panels, titles.items(), strict=True):
        axes.set_title(heading, fontsize=10, loc="left")
        if lines and look.letter:
            axes.set_xscale("log", base=2)
        (_memory_lines if lines else _memory_bars)(axes, memory, look, column)
    if lines:
        axis_of_sizes(memory.sizes[0], look, panels)
    return figure


def _memory_lines(axes: Axes, memory: Memory, look: Look, column: str) -> None:
    """Draw a line for each kernel, and write its ratio to the baseline at the largest size."""
    most = max(getattr(row, column) for row in memory.rows) or 1
    ends = []
    for label, style in look.styles.items():
        rows, at = look.along(memory, label)
        axes.plot(at, [getattr(row, column) for row in rows], markersize=4.5, linewidth=1.5, **vars(style))
        ratio = memory.ratio(rows[-1], column)
        if ratio is not None and label != memory.baseline:
            ends.append((at[-1], getattr(rows[-1], column), f"{three(ratio)}x", style.color))
    height = -math.inf
    for place, value, text, color in sorted(ends, key=lambda end: end[1]):
        height = max(value, height + 0.06 * most)  # lines that meet keep their labels apart
        axes.annotate(
            text, (place, height), (6, 0), textcoords="offset points", va="center", fontsize=8, color=color
        )  # fmt: skip
    if column == "held":  # how much of it are the outputs: the same for every kernel
        rows, at = look.along(memory, memory.kernels[0])
        axes.plot(at, [row.outputs for row in rows], color=GREY, linestyle=(0, (1, 2)), linewidth=1)
        how: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": 7.5, "color": GREY}
        axes.annotate("outputs", (at[-1], rows[-1].outputs), (-2, 4), **how)
    axes.margins(x=0.09)
    _from_zero(axes.yaxis, most * 1.08)
    plain(axes, rules=True)


def _memory_bars(axes: Axes, memory: Memory, look: Look, column: str) -> None:
    """Draw one bar a kernel, with its bytes and its ratio to the baseline beside it."""
    most = max(getattr(row, column) for row in memory.rows) or 1
    for place, row, style in look.bars(memory):
        value, ratio = getattr(row, column), memory.ratio(row, column)
        axes.barh(place, value, height=0.62, color=style.color, alpha=0.85)
        if column == "held":  # the outputs' part, fainter
            axes.barh(place, row.outputs, height=0.62, color="white", alpha=0.45)
        text = bytes_text(value) + (f", {three(ratio)}x" if ratio is not None and row.kernel != memory.baseline else "")
        axes.text(value + most * 0.03, place, text, va="center", fontsize=8)
    names_at_left(axes, list(look.styles), column == "held")
    _from_zero(axes.xaxis, most * 1.62)
    axes.set_xlabel("fainter: the outputs" if column == "held" else "", fontsize=8, color=GREY)
    plain(axes)


def _from_zero(axis: Any, most: float) -> None:
    """Let an axis of bytes start at zero, with round numbers of one unit on it."""
    unit, name = (2**20, "MiB") if most >= 2**20 / 2 else (2**10, "KiB")
    ticks = [tick * unit for tick in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, most / unit)]
    within = [tick for tick in ticks if 0 <= tick <= most]
    set_ticks(axis, within, lambda value: f"{value / unit:g} {name}" if value else "0", (0, most))


def _plot_sweep(sweep: Sweep, size: tuple[float, float] | None) -> Figure:
    """Draw the speed-ups of a sweep over the kernel as it stands.

    Red and blue are as far from white as the speed-up is from 1, in the logarithm: twice as fast and twice as slow weigh alike. A
    point that is no finding is paler still, and its number not bold; only what was faster twice is framed as the best.
    """
    if all(point.row is None for point in sweep.rows):
        raise InputError("no point of the sweep could be timed: there is nothing to plot; its verdict() says why")
    names = list(sweep.params)
    wide, high = len(sweep.params[names[-1]]), len(sweep.params[names[0]])
    inches = (max(5.6, 1.6 + 0.95 * wide), 1.6 + 0.52 * high) if len(names) > 1 else (6.4, 3.6)
    base = sweep.base
    where = base.size_text.replace(" ", ", ")
    title = f"{sweep.kernel}, {base.dtype}, {base.device}: {where}, {base.direction}"
    unsure = any(point.row is not None and point.row.outcome == "unknown" for point in sweep.rows)
    finding = sweep.verdict().partition("\n")[0] + "; ?: too few rounds or too noisy to tell" * unsure
    conditions = f"{finding} · {sweep.timings.conditions(' · ')}"
    figure = open_figure(title, conditions, f"{title}. {sweep.verdict()}", inches=inches, size=size)
    axes = figure.subplots()
    if len(names) > 1:
        _sweep_map(axes, sweep)
    else:
        _sweep_line(axes, sweep, figure.below)
    return figure


def _sweep_map(axes: Axes, sweep: Sweep) -> None:
    down, across = sweep.params
    told = [row.speedup for row in sweep.timings.rows if row.outcome != "unknown"]
    reach = max([_LEAST_REACH, *(max(speedup, 1 / speedup) for speedup in told)])
    norm, colours, best = Normalize(-math.log(reach), math.log(reach)), colormaps[_MAP], sweep.best
    colour: Any
    for number, point in enumerate(sweep.rows):
        y, x = divmod(number, len(sweep.params[across]))
        how: dict[str, Any] = {"ha": "center", "va": "center"}
        if (row := point.row) is None:
            colour, ink, text, small = "none", "black", "not timed", point.problem.partition(":")[0]
            how["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        else:
            colour = colours(norm(_SHARES[row.outcome] * math.log(row.speedup)))
            ink, text, small = _ink(colour), sweep.cell(point).removeprefix("best "), time_text(row.median)
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=2))
        if row is None:
            hatched: dict[str, Any] = {"fill": False, "edgecolor": RULE, "hatch": "///", "linewidth": 0}
            axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, **hatched))
        weight = "bold" if row is not None and row.outcome in ("faster", "slower") else "normal"
        axes.text(x, y - 0.1, text, fontsize=9, color=ink, fontweight=weight, **how)
        axes.text(x, y + 0.24, small if len(small) <= 18 else f"{small[:17]}…", fontsize=7, color=ink, **how)
        if point is best:  # over the cells that come after it
            frame = Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, fill=False, edgecolor="black", linewidth=2.2)
            axes.add_patch(frame).set_zorder(1.5)
    axes.set_xlim(-0.5, len(sweep.params[across]) - 0.5)
    axes.set_ylim(len(sweep.params[down]) - 0.5, -0.5)
    for name, axis in ((across, axes.xaxis), (down, axes.yaxis)):
        axis.set_ticks(range(len(sweep.params[name])), [f"{value:.6g}" for value in sweep.params[name]], fontsize=8.5)
        axis.set_label_text(name, fontsize=9)
        axis.set_tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(f"speed-up over {sweep.kernel} as it stands\nbold: a measurable difference{'; framed: the best' * (best is not None)}",
                   fontsize=9, loc="left")  # fmt: skip


def _ink(colour: Any) -> str:
    """Choose black or white, whichever stands out more from a colour."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3])
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "white"


def _sweep_line(axes: Axes, sweep: Sweep, inches: float) -> None:
    """Draw the speed-up over the values of the one param, with its interval."""
    ((name, values),) = sweep.params.items()
    rows = [(x, point.row) for x, point in enumerate(sweep.rows) if point.row is not None]
    axes.set_yscale("log")
    axes.axhspan(1 / NOISE_FLOOR, NOISE_FLOOR, color=RULE, zorder=0)
    axes.axhline(1, color=BASELINE_COLOUR, linewidth=1)
    axes.plot(
        [x for x, _ in rows], [row.speedup for _, row in rows], color=_BLUE, marker="o", markersize=5, linewidth=1.2
    )
    for x, row in rows:
        if row.outcome == "unknown":
            axes.plot([x], [row.speedup], color=_BLUE, marker="o", markersize=5, markerfacecolor="white")
        if row.speedup_low and row.speedup_high:
            axes.plot([x, x], [row.speedup_low, row.speedup_high], color=_BLUE, linewidth=3, alpha=0.5)
    for x, point in enumerate(sweep.rows):
        if point.row is None:
            axes.annotate(
                "not timed", (x, 1), (0, -12), textcoords="offset points", ha="center", fontsize=8, color=GREY
            )
        else:
            text = ("best: " * (point is sweep.best)) + time_text(point.row.median)
            text += "?" * (point.row.outcome == "unknown")
            text = f"as it stands\n{text}" if point.kernel == sweep.kernel else text
            axes.annotate(text, (x, point.row.speedup_high or point.row.speedup), (0, 5), textcoords="offset points",
                          ha="center", fontsize=8, fontweight="bold" if point is sweep.best else "normal", bbox=WHITE)  # fmt: skip
    axes.set_xlim(-0.4, len(values) - 0.6)
    axes.set_xticks(range(len(values)), [f"{value:.6g}" for value in values], fontsize=8.5)
    axes.set_xlabel(name, fontsize=9)
    axes.set_ylabel(f"speed-up over {sweep.kernel}\nas it stands", fontsize=9)
    ends = [end for _, row in rows for end in (row.speedup, row.speedup_low, row.speedup_high) if end]
    ratio_ticks(axes.yaxis, [*ends, 1.06 * max(ends)], inches / 0.3)  # above the last point stands its time
    plain(axes, rules=True)
