"""A picture of a sweep: one param gives a line over its values, two give a heat map with the numbers written in.

Red and blue are as far from white as the speed-up is from 1, in the logarithm: twice as fast and twice as slow weigh alike. A
point that is no finding is paler still, and its number not bold; only what was faster twice is framed as the best.
"""

from __future__ import annotations

import math
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..errors import InputError
from ..run.swept import Point, Sweep
from ..run.timing.words import NOISE_FLOOR, time_text
from .figure import BASELINE_COLOUR, GREY, RULE, WHITE, Head, Plot, plain, require_inches

_BLUE = "#0072B2"
_MAP = "RdBu"
#: The scale of colours reaches at least so far: else the noise of a sweep without findings would be as bright as a finding.
_LEAST_REACH = 1.25
#: How much of its colour a point has, by what was found: none where too few rounds tell nothing.
_SHARES = {"faster": 1.0, "slower": 1.0, "same": 0.35, "unknown": 0.0}


def plot_sweep(sweep: Sweep, *, size: tuple[float, float] | None = None) -> Figure:
    """Draw the speed-ups of a sweep over the kernel as it stands.

    Args:
        sweep: what `sweep` gave.
        size: width and height in inches.

    Returns:
        A figure; a notebook shows it, `figure.savefig("sweep.png")` or `.svg` keeps it.

    Raises:
        InputError: no point could be timed, or a size that no figure can have.

    Example:
        >>> from lltm_inline.run.sweep import sweep
        >>> swept = sweep("lltm/fused", {"GRAIN": [1024, 2048]}, (2, 3, 5), seconds=0.01, progress=False)
        >>> plot_sweep(swept).axes[0].get_xlabel()
        'GRAIN'
    """
    require_inches(size)
    if all(point.row is None for point in sweep.rows):
        raise InputError("no point of the sweep could be timed: there is nothing to plot; its verdict() says why")
    names = list(sweep.params)
    wide, high = len(sweep.params[names[-1]]), len(sweep.params[names[0]])
    inches = size or ((max(5.6, 1.6 + 0.95 * wide), 1.9 + 0.52 * high) if len(names) > 1 else (6.4, 3.9))
    base = sweep.base
    where = base.size_text.replace(" ", ", ")
    title = f"{sweep.kernel}, {base.dtype}, {base.device}: {where}, {base.direction}"
    unsure = any(point.row is not None and point.row.outcome == "unknown" for point in sweep.rows)
    finding = sweep.verdict().partition("\n")[0] + "; ?: too few rounds or too noisy to tell" * unsure
    head = Head(title, f"{finding} · {sweep.timings.conditions(' · ')}", {}, inches[0])
    figure = Plot(figsize=size or (inches[0], inches[1] + head.inches - 0.3), layout="constrained")
    FigureCanvasAgg(figure)
    figure.words = f"{title}. {sweep.verdict()}"
    axes = figure.subplots()
    head.draw(figure)
    (_map if len(names) > 1 else _line)(axes, sweep)
    return figure


def _map(axes: Axes, sweep: Sweep) -> None:
    """Draw a cell for each pair of values."""
    down, across = sweep.params
    reach = max(
        [
            _LEAST_REACH,
            *(
                max(p.row.speedup, 1 / p.row.speedup)
                for p in sweep.rows
                if p.row is not None and p.row.outcome != "unknown"
            ),
        ]
    )
    norm, colours = Normalize(-math.log(reach), math.log(reach)), colormaps[_MAP]
    for point in sweep.rows:
        x = sweep.params[across].index(point.params[across])
        y = sweep.params[down].index(point.params[down])
        colour: Any = "none"
        if point.row is not None:
            share = _SHARES[point.row.outcome]
            colour = colours(norm(share * math.log(point.row.speedup)))
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=2))
        if point.row is None:
            axes.add_patch(
                Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, fill=False, edgecolor=RULE, hatch="///", linewidth=0)
            )
        _write(axes, sweep, point, x, y, "black" if point.row is None else _ink(colour))
    best = sweep.best
    if best is not None:
        x, y = sweep.params[across].index(best.params[across]), sweep.params[down].index(best.params[down])
        axes.add_patch(Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, fill=False, edgecolor="black", linewidth=2.2))
    axes.set_xlim(-0.5, len(sweep.params[across]) - 0.5)
    axes.set_ylim(len(sweep.params[down]) - 0.5, -0.5)
    for name, axis in ((across, axes.xaxis), (down, axes.yaxis)):
        axis.set_ticks(range(len(sweep.params[name])), [f"{value:.6g}" for value in sweep.params[name]], fontsize=8.5)
        axis.set_label_text(name, fontsize=9)
        axis.set_tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(f"speed-up over {sweep.kernel} as it stands\nbold: a measurable difference{'; framed: the best' * (best is not None)}",
                   fontsize=9, loc="left")  # fmt: skip


def _write(axes: Axes, sweep: Sweep, point: Point, x: float, y: float, ink: str) -> None:
    """Write speed-up and time into a cell: bold where it is a finding."""
    if point.row is None:
        text, small = "not timed", point.problem.partition(":")[0]
    else:
        text, small = sweep.cell(point).removeprefix("best "), time_text(point.row.median)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1} if point.row is None else None
    axes.text(x, y - 0.1, text, ha="center", va="center", fontsize=9, color=ink, bbox=box,
              fontweight="bold" if _is_finding(point) else "normal")  # fmt: skip
    small = small if len(small) <= 18 else f"{small[:17]}…"
    axes.text(x, y + 0.24, small, ha="center", va="center", fontsize=7, color=ink, bbox=box)


def _is_finding(point: Point) -> bool:
    return point.row is not None and point.row.outcome in ("faster", "slower")


def _ink(colour: Any) -> str:
    """Choose black or white, whichever stands out more from a colour."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3])
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "white"


def _line(axes: Axes, sweep: Sweep) -> None:
    """Draw the speed-up over the values of the one param, with its interval."""
    ((name, values),) = sweep.params.items()
    places = {value: number for number, value in enumerate(values)}
    rows = [(places[point.params[name]], point.row) for point in sweep.rows if point.row is not None]
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
    ends = [end for _, row in rows for end in (row.speedup, row.speedup_low, row.speedup_high) if end]
    low, high = min([0.95, *ends]) / 1.02, max([1.05, *ends]) * 1.06
    axes.set_ylim(low, high)
    for point in sweep.rows:
        x = places[point.params[name]]
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
    _ratio_ticks(axes, low, high)
    axes.grid(axis="y", color=RULE, linewidth=0.7)
    plain(axes)


def _ratio_ticks(axes: Axes, low: float, high: float) -> None:
    """Put a few round factors on the axis of speed-ups."""
    steps = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 100)
    step = next((step for step in steps if (high - low) / step <= 7), steps[-1])
    ticks = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1) if n > 0]
    axes.yaxis.set_major_locator(FixedLocator(sorted({*ticks, 1.0})))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}x"))
