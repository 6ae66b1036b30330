"""The picture of memory: what can be read off it, and that it stays readable."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from matplotlib.figure import Figure

from lltm_inline.errors import InputError
from lltm_inline.notebook.plot import plot
from lltm_inline.tables.memory import Memory, MemoryRow

SWEEP = [{"B": b, "C": 64, "H": 64} for b in (1, 2, 4, 8, 16, 32)]
MIXED = [{"B": 8, "C": 64, "H": 64}, {"B": 4, "C": 32, "H": 32}]
KERNELS = ["conv_bn/python", "conv_bn/unfused", "conv_bn/fused"]


def measured(sizes: list[dict[str, int]], kernels: list[str] = KERNELS, **changes: Any) -> Memory:
    """Make rows in which each next kernel holds half of the one before, and peaks at the same."""
    rows = []
    for size in sizes:
        outputs = 4 * size["B"] * size["C"] * size["H"] ** 2
        for index, kernel in enumerate(kernels):
            values: dict[str, Any] = {
                "kernel": kernel, "op": "conv_bn", "size": size, "depth": 4, "dtype": "float32", "device": "cpu",
                "held": outputs * (1 + 8 // 2**index), "outputs": outputs, "peak": outputs * 12, "threads": 2,
                "torch": "2.13.0", "cpu": "A Processor",
            }  # fmt: skip
            rows.append(MemoryRow(**{**values, **changes}))
    return Memory(tuple(rows), kernels[0])


def texts(figure: Figure) -> str:
    """Join every text of a drawn figure."""
    figure.canvas.draw()
    found = [text.get_text() for text in figure.findobj(lambda item: hasattr(item, "get_text"))]
    return " | ".join(" ".join(text.split()) for text in found if text)


@pytest.mark.parametrize("sizes", [SWEEP, MIXED, SWEEP[:1]], ids=["sweep", "mixed", "one"])
@pytest.mark.parametrize("count", [1, 3])
def test_every_form_names_kernels_units_and_conditions(sizes, count):
    """Kernels, both quantities, units and conditions can be read off every form."""
    shown = texts(plot(measured(sizes, KERNELS[:count])))
    for part in (
        *KERNELS[:count],
        "held for backward",
        "peak, forward + backward",
        "MiB",
        "conv_bn, float32, cpu, 4 layers",
    ):
        assert part in shown, part
    assert "bytes above inputs and parameters · 2 threads · torch 2.13.0 · A Processor" in shown


def test_a_sweep_starts_at_zero_over_the_letter_that_varies():
    """Bytes are linear, so that heights compare; the ratio stands at the end of each line but the baseline's."""
    figure = plot(measured(SWEEP))
    left, right = figure.axes
    assert left.get_ylim()[0] == right.get_ylim()[0] == 0 and left.get_yscale() == "linear"
    assert left.get_xscale() == "log" and left.get_xlabel() == "B  (C = 64, H = 64)"
    assert list(left.lines[0].get_xdata()) == [1, 2, 4, 8, 16, 32]
    assert len(left.lines) == 4 and len(right.lines) == 3  # the outputs are a line of their own on the left
    shown = texts(figure)
    assert "0.56x" in shown and "0.33x" in shown and "outputs" in shown


def test_labels_do_not_lie_on_each_other():
    """Lines that meet keep their ratios apart, and so do the numbers of the sizes."""
    figure = plot(measured(SWEEP))
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in figure.axes[1].texts), key=lambda box: box.y0)
    assert len(boxes) == 2 and boxes[0].y1 <= boxes[1].y0 + 1
    for axes in figure.axes:
        marks = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        marks.sort(key=lambda box: box.x0)
        assert len(marks) >= 3 and all(one.x1 < other.x0 for one, other in pairwise(marks))


def test_one_size_gives_bars_with_bytes_and_ratios():
    """With one size there is nothing to draw a line over."""
    figure = plot(measured(SWEEP[-1:]))
    assert len(figure.axes[0].patches) == 6 and len(figure.axes[1].patches) == 3
    shown = texts(figure)
    assert "288 MiB" in shown and "160 MiB, 0.56x" in shown and "B=32, C=64, H=64" in shown


def test_small_amounts_are_in_kib_and_nothing_at_all_can_be_drawn():
    """The unit follows the largest value; a measurement of zeros is a picture too."""
    assert "KiB" in texts(plot(measured(SWEEP[:1], held=1000, outputs=500, peak=2000)))
    plot(measured(SWEEP, held=0, outputs=0, peak=0)).canvas.draw()


def test_missing_rows_leave_gaps_not_errors():
    """A kernel that was not measured at every size, and a baseline that is missing somewhere."""
    whole = measured(SWEEP)
    for count in (1, 2, 4, 7):
        plot(Memory(whole.rows[:count], whole.baseline)).canvas.draw()
    plot(Memory(whole.rows[1:], whole.baseline)).canvas.draw()


def test_no_rows_cannot_be_plotted():
    """Nothing measured is an InputError, not an empty picture."""
    with pytest.raises(InputError, match="nothing was measured: there is nothing to plot"):
        plot(Memory((), "conv_bn/python"))


def test_a_notebook_gets_a_png(tmp_path):
    """The figure shows itself without pyplot, and saves in the usual formats."""
    figure = plot(measured(SWEEP), size=(6.0, 3.0))
    assert "holds" in figure._repr_html_().partition('alt="')[2]  # type: ignore[attr-defined]
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    figure.savefig(tmp_path / "memory.svg")
    assert (tmp_path / "memory.svg").stat().st_size > 1000
