"""The plot of a benchmark: what must be in it, in every form that it takes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from lltm_inline.errors import InputError
from lltm_inline.notebook.plot import plot
from lltm_inline.tables.timings import DIRECTIONS, Row, Timings
from tests.html_checks import read

SWEEP = [{"B": b, "F": 32, "S": 128} for b in (1, 16, 256)]
MIXED = [{"B": 64, "F": 1024, "S": 128}, {"B": 16, "F": 32, "S": 128}]
KERNELS = ["lltm/python", "lltm/aten", "lltm/fused", "lltm/stable", "lltm/fused@1"]


def timings(sizes: list[dict[str, int]], kernels: list[str], directions: Any = DIRECTIONS, **changes: Any) -> Timings:
    """Make timings in which each next kernel is 10 % faster."""
    rows = []
    for size in sizes:
        for direction in directions:
            for index, kernel in enumerate(kernels):
                speedup = 1 + index / 10
                median = (1e-5 + 1e-8 * size["B"] * size["F"]) / speedup
                values: dict[str, Any] = {
                    "kernel": kernel, "op": "lltm", "size": size, "direction": direction, "dtype": "float32",
                    "device": "cpu", "median": median, "q1": median * 0.97, "q3": median * 1.05, "samples": 50,
                    "calls": 3, "speedup": speedup, "speedup_low": speedup * 0.98, "speedup_high": speedup * 1.02,
                    "flags": ("-O3", "-march=native"), "threads": 2, "torch": "2.13.0", "compiler": "g++ 12.2.0",
                    "cpu": "A Processor",
                }  # fmt: skip
                rows.append(Row(**{**values, **changes}))
    return Timings(tuple(rows), kernels[0])


def texts(figure: Figure) -> str:
    """Join every text of a drawn figure."""
    figure.canvas.draw()
    found = [text.get_text() for text in figure.findobj(lambda item: hasattr(item, "get_text"))]
    return " | ".join(" ".join(text.split()) for text in found if text)


@pytest.mark.parametrize("sizes", [SWEEP, MIXED, SWEEP[:1]], ids=["sweep", "mixed", "one"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_form_names_kernels_units_and_conditions(sizes, count):
    """Kernels, directions, units and conditions can be read off every form, and it can be drawn."""
    shown = texts(plot(timings(sizes, KERNELS[:count])))
    for part in (*KERNELS[:count], "forward + backward", "time per call", "µs", "lltm, float32, cpu"):
        assert part in shown, part
    assert "-O3 -march=native · 2 threads · g++ 12.2.0 · torch 2.13.0 · A Processor" in shown
    assert ("speed-up over lltm/python" in shown) == (count > 1)


def test_times_are_logarithmic_with_a_band_and_a_line_at_1x():
    """A sweep has time on a log axis over the letter that varies, quartile bands, and 1x drawn in the view below."""
    figure = plot(timings(SWEEP, KERNELS[:3]))
    assert len(figure.axes) == 6
    top, below = figure.axes[0], figure.axes[3]
    assert top.get_yscale() == top.get_xscale() == "log" and below.get_xlabel() == "B (F = 32, S = 128)".replace(
        " (", "  ("
    )
    assert len(top.lines) == len(top.collections) == 3 and len(below.collections) == 2
    assert list(top.lines[1].get_xdata()) == [1, 16, 256]
    assert any(list(line.get_ydata()) == [1, 1] for line in below.lines)
    low, high = below.get_ylim()
    assert low < 0.98 and high > 1.2 * 1.02


def test_kernels_differ_without_their_colour():
    """No two of seven kernels share both marker and line style, so grey is enough; colours differ as well."""
    lines = plot(timings(SWEEP, [*KERNELS, "lltm/fused@2", "lltm/fused@3"])).axes[0].lines
    assert len({(line.get_marker(), line.get_linestyle(), str(line._dash_pattern)) for line in lines}) == 7  # type: ignore[attr-defined]
    assert len({line.get_color() for line in lines}) == 7


def test_one_size_gives_bars_with_their_times():
    """With one size there is nothing to draw a line over: bars, whiskers and numbers."""
    figure = plot(timings(SWEEP[:1], KERNELS[:3], ["both"]))
    assert len(figure.axes) == 2 and len(figure.axes[0].patches) == 3
    shown = texts(figure)
    assert "10.3 µs" in shown and "1.20x" in shown and "B=1, F=32, S=128" in shown


def test_what_is_no_finding_is_not_shown_as_one():
    """In the speed-up view of one size an interval around 1 is labelled in words."""
    same = timings(SWEEP[:1], KERNELS[:2], ["both"], speedup=1.05, speedup_low=0.98, speedup_high=1.1)
    assert "no measurable difference" in texts(plot(same))
    few = timings(SWEEP[:1], KERNELS[:2], ["both"], speedup=1.05, speedup_low=None, speedup_high=None)
    figure = plot(few)
    assert "too few rounds" in texts(figure)
    assert not any(np.isfinite(line.get_xdata()).any() for line in figure.axes[1].lines[:-1]), "no point, no interval"


def test_of_too_few_rounds_there_is_no_zigzag():
    """A line of speed-ups leaves out the sizes at which nothing can be told; a busy machine is named beside the conditions."""
    few = timings(SWEEP, KERNELS[:2], ["both"], speedup=7.09, speedup_low=None, speedup_high=None, others=1.6)
    figure = plot(few)
    drawn = figure.axes[1].lines[0]
    assert not np.isfinite(drawn.get_ydata()).any() and "This machine is busy" in texts(figure)


def test_mixed_sizes_stand_in_order_of_their_time():
    """Sizes that differ in several letters are labelled in full, the quickest first."""
    figure = plot(timings(MIXED, KERNELS[:2]))
    figure.canvas.draw()
    assert [text.get_text() for text in figure.axes[-1].get_xticklabels()] == ["16\n32\n128", "64\n1024\n128"]


def test_a_size_stands_at_the_same_place_in_every_column():
    """Even if a direction ranks the sizes the other way round its points are above their own labels."""
    whole = timings(MIXED, KERNELS[:2], ["forward", "both"])
    flip = [replace(row, median=1e-6 / row.median) if row.direction == "both" else row for row in whole.rows]
    figure = plot(Timings(tuple(replace(row, speedup=row.size["B"]) for row in flip), whole.baseline))
    left, right = (dict(zip(*axes.lines[0].get_data(), strict=True)) for axes in figure.axes[2:])
    assert left == right


@pytest.mark.parametrize("factor", [1e-3, 1.0, 300.0])
def test_extreme_speedups_stay_inside_the_axes(factor):
    """Whatever the ratios are there are ticks, and every interval is inside."""
    figure = plot(timings(SWEEP, KERNELS[:2], speedup=factor, speedup_low=factor / 1.2, speedup_high=factor * 1.2))
    low, high = figure.axes[-1].get_ylim()
    ticks = [tick for tick in figure.axes[-1].get_yticks() if low <= tick <= high]
    assert low < factor / 1.2 and high > factor * 1.2 and 1.0 in ticks and len(ticks) >= 2


@pytest.mark.parametrize("sizes", [SWEEP, SWEEP[:1]], ids=["sweep", "one"])
@pytest.mark.parametrize("top", [1.02, 1.3, 2.2, 4.0, 26.0, 90.0, 3000.0])
def test_ticks_of_speedups_are_near_all_and_apart(sizes, top):
    """Over a wide range too a tick is near the largest speed-up, and no label lies over another."""
    rows = []
    for row in timings(sizes, KERNELS[:4]).rows:
        factor = top ** (KERNELS.index(row.kernel) / 3)
        rows.append(replace(row, speedup=factor, speedup_low=factor / 1.05, speedup_high=factor * 1.05))
    figure = plot(Timings(tuple(rows), KERNELS[0]))
    figure.canvas.draw()
    for axes in figure.axes[3:]:
        axis = axes.yaxis if len(sizes) > 1 else axes.xaxis
        low, high = axis.get_view_interval()
        ticks = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
        assert 1.0 in ticks and high / ticks[-1] < max(4.2, (high / low) ** 0.4)
        boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_visible()]
        boxes = [box for box in boxes if box.width]
        assert not any(one.overlaps(two) for one, two in pairwise(boxes))


@pytest.mark.parametrize("sizes", [SWEEP, SWEEP[:1]], ids=["sweep", "one"])
def test_small_figures_keep_title_and_legend_off_the_axes(sizes):
    """In a figure of 4 by 4 inches nothing of the head lies over an axes."""
    figure = plot(timings(sizes, KERNELS, ["forward", "backward"]), size=(4.0, 4.2))
    figure.canvas.draw()
    top = max(axes.get_tightbbox().y1 for axes in figure.axes)  # type: ignore[union-attr]
    heads = [*figure.texts, *figure.legends]
    assert heads and all(head.get_window_extent().y0 >= top - 1 for head in heads)


@pytest.mark.filterwarnings("error")
def test_missing_rows_leave_gaps_not_errors():
    """Partial timings, as an interrupted benchmark leaves them, can be plotted."""
    whole = timings(SWEEP, KERNELS[:2])
    for count in (1, 3, 7):
        plot(Timings(whole.rows[:count], whole.baseline)).canvas.draw()


def test_no_rows_cannot_be_plotted():
    """Nothing timed is an InputError, not an empty picture."""
    with pytest.raises(InputError, match="nothing to plot"):
        plot(Timings((), "lltm/python"))


def test_a_notebook_gets_a_picture_with_words_and_files_can_be_written(tmp_path):
    """The figure shows itself without pyplot, says in words what it shows, and saves in the usual formats."""
    figure = plot(timings(SWEEP, KERNELS[:2], ["both"]))
    shown = read(figure._repr_html_())  # type: ignore[attr-defined]
    assert not shown.problems and not shown.text
    assert 'alt="times per call of lltm, float32, cpu. lltm/aten is 1.10x faster' in figure._repr_html_()  # type: ignore[attr-defined]
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    for name in ("plot.svg", "plot.png"):
        figure.savefig(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.full
def test_plotting_does_not_touch_pyplot():
    """No global figure list, no backend choice: importing and using the module leaves pyplot unimported."""
    code = (
        "import sys; from lltm_inline.notebook.plot import plot; from tests.notebook.test_plot import *; "
        "plot(timings(SWEEP, KERNELS[:2])).canvas.draw(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
