"""The picture of a roofline: roofs, and below them a path over the sizes for each kernel and direction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analysis.roofline import Roofline, Roofs, intensity
from ..errors import InputError
from ..tables.words import three
from .figure import BASELINE_COLOUR, GREY, WHITE, open_figure, plain, set_ticks, styles_of

#: Of the height of the picture: roofs that are nearer to each other share one label.
_NEAR = 0.06
_TICKS = [step * 10.0**power for power in range(-6, 9) for step in (1, 2, 5)]


def plot_roofline(found: Roofline, size: tuple[float, float] | None) -> Figure:
    """Draw operations a second over operations a byte, both logarithmic; the roofs with one thread are dashed."""
    timings = replace(found.timings, rows=tuple(row for row in found.timings.rows if row.gflop_per_s))
    if not timings.rows:
        raise InputError(f"no picture without operations: {found.doubts[0]}")
    at = [intensity(row) for row in timings.rows]
    reached = [(row.gflop_per_s or 0) * 1e9 for row in timings.rows]
    top = found.roofs[-1]
    left, right = min([*at, found.ridge]) / 3, max([*at, found.ridge]) * 3
    lowest = min([*reached, found.roofs[0].at(left)]) / 1.6
    styles = styles_of(timings.kernels, timings.baseline)
    words = f"{found.title}. {found.verdict()}"
    figure = open_figure(found.title, timings.conditions(" · "), words, styles=styles, inches=(7.4, 4.4), size=size)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = lowest, top.flops * 1.9
    across = [tick for tick in _TICKS if left <= tick <= right][:: 1 + (right / left > 300)]
    up = [tick * 1e9 for tick in _TICKS if lowest <= tick * 1e9 <= ends[1]]
    set_ticks(axes.xaxis, across, lambda x: f"{x:g}", (left, right))
    set_ticks(axes.yaxis, up[:: 1 + len(up) // 14], lambda y: f"{y / 1e9:g}", ends)
    for roofs in found.roofs:
        _draw_roofs(axes, roofs, (left, right), ends, is_top=roofs is top)
    for kernel, style in styles.items():
        for direction in timings.directions:
            rows = sorted(timings.select(kernel=kernel, direction=direction).rows, key=lambda row: row.median)
            xs, ys = [intensity(row) for row in rows], [(row.gflop_per_s or 0) * 1e9 for row in rows]
            axes.plot(xs, ys, markersize=5, linewidth=1, **vars(style))
            ranges = [(y * row.median / row.q3, y * row.median / row.q1) for row, y in zip(rows, ys, strict=True)]
            for x, (low, high) in zip(xs, ranges, strict=True):
                axes.plot([x, x], [low, high], color=style.color, linewidth=3, alpha=0.5)
            if rows and kernel == timings.kernels[-1] and len(timings.rows) > len(timings.kernels):
                for end in {0, len(rows) - 1}:
                    axes.annotate(
                        f"{direction}, {rows[end].size_text}", (xs[end], ys[end]), (6, -3), textcoords="offset points",
                        fontsize=7.5, bbox=WHITE,
                    )  # fmt: skip
    axes.set_xlabel("operations a byte, as the op declares them", fontsize=9)
    axes.set_ylabel("GFLOP/s", fontsize=9)
    plain(axes)
    return figure


def _draw_roofs(
    axes: Axes, roofs: Roofs, across: tuple[float, float], up: tuple[float, float], *, is_top: bool
) -> None:
    look: dict[str, Any] = {"color": BASELINE_COLOUR if is_top else GREY, "linewidth": 1.2 if is_top else 0.8}
    look |= {"linestyle": "solid" if is_top else (0, (4, 3)), "zorder": 0}
    left, right = across
    named: list[tuple[float, str]] = []
    for level in roofs.levels:
        axes.plot([left, roofs.flops / level.rate], [left * level.rate, roofs.flops], **look)
        words = f"{level.name} {three(level.rate / 1e9)} GB/s"
        if named and named[-1][0] < level.rate * (up[1] / up[0]) ** _NEAR:
            named[-1] = level.rate, f"{named[-1][1]}, {words}"
        else:
            named.append((level.rate, words))
    for rate, words in named if is_top else ():
        x = max(left * 1.04, up[0] / rate * 1.5)
        below, ground = x * rate / (up[1] / up[0]) ** 0.015, {**WHITE, "alpha": 1}  # its own roof rises away from it
        axes.text(x, below, words, fontsize=7.5, color=GREY, bbox=ground, va="top", zorder=1)
    axes.plot([roofs.flops / roofs.levels[0].rate, right], [roofs.flops, roofs.flops], **look)
    threads = f"{roofs.threads} thread{'s' * (roofs.threads != 1)}: " * bool(roofs.threads)
    words = f"{threads}{three(roofs.flops / 1e9)} GFLOP/s"
    axes.annotate(
        words, (right, roofs.flops), (-2, 3), textcoords="offset points", ha="right", fontsize=7.5, color=GREY
    )
