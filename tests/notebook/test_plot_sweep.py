"""The picture of a sweep: what must be in it, for one param and for two."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.patches import Rectangle

from lltm_inline.errors import InputError
from lltm_inline.notebook.plot import plot
from lltm_inline.tables.sweep import Point, Sweep
from lltm_inline.tables.timings import Row
from tests.notebook.test_plot import texts

VALUES = {"UNROLL": (1, 2, 4), "THREADS": (64, 128, 256, 512)}


def row(label: str, speedup: float, spread: float = 0.03) -> Row:
    """Make a row with an interval as wide as that on both sides."""
    what: dict[str, Any] = {"op": "lltm", "size": {"B": 16, "F": 32, "S": 128}, "direction": "both", "dtype": "float32"}
    times = {"median": 1e-4 / speedup, "q1": 1e-4 / speedup, "q3": 1e-4 / speedup, "samples": 50, "calls": 1}
    ends = {"speedup_low": speedup * (1 - spread), "speedup_high": speedup * (1 + spread)}
    if label == "lltm/mine":
        ends = {"speedup_low": 1.0, "speedup_high": 1.0}
    return Row(label, **what, **times, device="cpu", speedup=speedup, **ends, flags=("-O3",), threads=2, torch="2.13.0")


def make(names: list[str], *, best: bool = True) -> Sweep:
    """Make a sweep in which the second point is the best, the last was not timed, and the third is the kernel as it stands."""
    points = []
    for number, combination in enumerate(itertools.product(*(VALUES[name] for name in names))):
        label = "lltm/mine" if number == 2 else f"lltm/mine@{number + 1}"
        params = dict(zip(names, combination, strict=True))
        points.append(Point(params, label, row(label, {1: 1.5, 2: 1.0, 3: 0.7}.get(number, 1.01))))
    points[-1] = Point(points[-1].params, points[-1].kernel, None, "it did not compile: expected ';'")
    confirmed = row("lltm/mine@2", 1.45 if best else 1.0)
    own = points[2].params
    return Sweep(
        "lltm/mine", own, {name: VALUES[name] for name in names}, tuple(points), row("lltm/mine", 1.0), confirmed
    )


def frames(figure: Any) -> list[Rectangle]:
    """List the frames around a best point."""
    return [patch for patch in figure.axes[0].patches if not patch.get_fill() and patch.get_linewidth() > 2]


def test_two_params_make_a_heat_map_with_numbers_written_in():
    """A cell for each pair with speed-up and time, the names of the params at its edges, and what the figures depend on."""
    figure = plot(make(["UNROLL", "THREADS"]))
    shown = texts(figure)
    axes = figure.axes[0]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("UNROLL", "THREADS")
    for part in (
        "1.50x",
        "66.7 µs",
        "0.70x",
        "as it stands",
        "not timed",
        "it did not compile",
        "512",
        "-O3 · 2 threads",
    ):
        assert part in shown, part
    assert "lltm/mine, float32, cpu: B=16, F=32, S=128, both" in shown


def test_only_what_was_faster_twice_is_framed():
    """A best point that did not hold has no frame, and the title says nothing of one."""
    found = plot(make(["UNROLL", "THREADS"]))
    (frame,) = frames(found)
    assert (round(frame.get_x() + 0.46), round(frame.get_y() + 0.44)) == (1, 0) and "framed: the best" in texts(found)
    none = plot(make(["UNROLL", "THREADS"], best=False))
    assert not frames(none) and "framed" not in texts(none)


def test_what_is_no_finding_is_pale_and_not_bold():
    """A difference that the interval does not bear out is nearer to white than one of the same size that it does."""
    sure = make(["UNROLL", "THREADS"])
    rows = [
        replace(point, row=row(point.kernel, 1.5, 0.6)) if number == 1 else point
        for number, point in enumerate(sure.rows)
    ]
    for found, bold in ((sure, True), (replace(sure, rows=tuple(rows)), False)):
        axes = plot(found).axes[0]
        (text,) = [text for text in axes.texts if text.get_text() == ("1.50x" if bold else "?")]
        assert (text.get_weight() == "bold") is bold
        paleness = min(axes.patches[1].get_facecolor()[:3])
        assert (paleness < 0.5) is bold


def test_numbers_can_be_read_on_every_cell():
    """Each has a contrast of at least 4.5 to its cell."""

    def luminance(colour: Any) -> float:
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    base = make(["UNROLL", "THREADS"])
    speedups = [0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.3, 1.8, 2.5, 4.0, 5.0]
    rows = tuple(
        replace(point, row=row(f"x/y@{n}", s), kernel=f"x/y@{n}", problem="")
        for n, (point, s) in enumerate(zip(base.rows, speedups, strict=True))
    )
    axes = plot(replace(base, rows=rows, confirmed=None)).axes[0]
    cells = [patch for patch in axes.patches if patch.get_fill()]
    for number, cell in enumerate(cells):
        ink = 0.0 if axes.texts[2 * number].get_color() == "black" else 1.0
        low, high = sorted((ink, luminance(cell.get_facecolor())))
        assert (high + 0.05) / (low + 0.05) >= 4.5, speedups[number]


def test_one_param_makes_a_line():
    """Over its values in their order, with intervals, the times written beside, and the line at 1x."""
    figure = plot(make(["THREADS"]))
    axes, shown = figure.axes[0], texts(figure)
    assert axes.get_xlabel() == "THREADS" and axes.get_yscale() == "log"
    for part in ("best: 66.7 µs", "as it stands", "not timed", "speed-up over lltm/mine", "512"):
        assert part in shown, part
    assert any(list(line.get_ydata()) == [1, 1] for line in axes.lines)
    low, high = axes.get_ylim()
    assert low < 0.97 and high > 1.5 * 1.03 and 1.0 in axes.get_yticks()
    assert "best:" not in texts(plot(make(["THREADS"], best=False)))


@pytest.mark.parametrize("names", [["THREADS"], ["UNROLL", "THREADS"]])
def test_a_sweep_can_be_saved_and_has_the_size_that_is_wanted(names, tmp_path):
    """As PNG and SVG, through pixels that a notebook shows; a size that no figure can have is refused."""
    figure = plot(make(names), size=(7.0, 5.0))
    assert figure.get_size_inches().tolist() == [7, 5] and figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert "lltm/mine" in figure._repr_html_().partition('alt="')[2]  # type: ignore[attr-defined]
    figure.savefig(tmp_path / "sweep.svg")
    assert (tmp_path / "sweep.svg").stat().st_size > 1000
    with pytest.raises(InputError, match="width, height"):
        plot(make(names), size=(0, 1))


@pytest.mark.parametrize("names", [["THREADS"], ["UNROLL", "THREADS"]])
def test_the_head_is_off_the_axes(names):
    """Title and conditions do not lie over the picture."""
    figure = plot(make(names))
    figure.canvas.draw()
    top = max(axes.get_tightbbox().y1 for axes in figure.axes)  # type: ignore[union-attr]
    assert figure.texts and all(head.get_window_extent().y0 >= top - 1 for head in figure.texts)


def test_a_sweep_without_times_cannot_be_drawn():
    """Then the verdict says why, and the message says so."""
    found = make(["THREADS"])
    none = replace(found, rows=tuple(Point(point.params, point.kernel, None, "it is wrong") for point in found.rows))
    with pytest.raises(InputError, match=r"nothing to plot; its verdict\(\) says why"):
        plot(none)


def test_something_else_is_refused():
    """With what could be drawn."""
    with pytest.raises(InputError, match=r"want what benchmark, memory, sweep, counts, trace or roofline gave"):
        plot(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [["THREADS"], ["UNROLL", "THREADS"]])
def test_points_after_too_few_rounds_are_marked_as_such(names):
    """They have a question mark and no colour, and the head says what it means."""
    found = make(names, best=False)
    rows = [replace(point, row=replace(point.row, speedup_low=None, speedup_high=None)) if number == 1 else point
            for number, point in enumerate(found.rows)]  # fmt: skip
    figure = plot(replace(found, rows=tuple(rows)))
    shown = texts(figure)
    assert ("?" if len(names) > 1 else "66.7 µs?") in shown and "?: too few rounds or too noisy to tell" in shown
    if len(names) > 1:
        assert min(figure.axes[0].patches[1].get_facecolor()[:3]) > 0.9  # type: ignore[union-attr]
