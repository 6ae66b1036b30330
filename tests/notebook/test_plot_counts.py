"""The picture of counts: which lane of a warp wants which address, of each line that touches memory."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

import lltm_inline as li
from lltm_inline.errors import InputError
from lltm_inline.notebook.plot import plot
from lltm_inline.tables.counts import Counts, CountsRow


def row(what: str, lanes: list[int], transactions: int, least: int, kernel: str = "odd/a", **more: object) -> CountsRow:
    """Make the counts of a line by hand."""
    fields: dict[str, object] = {
        "op": "odd", "size": {"N": 32}, "dtype": "float32", "device": "cuda-cpu", "direction": "forward", "launch": 1,
        "function": "k", "grid": (1, 1, 1), "block": (32, 1, 1), "line": 3, "array": "x", "width": 4, "accesses": 32, "requests": 1,
    }  # fmt: skip
    return CountsRow(
        kernel, what=what, lanes=tuple(lanes), transactions=transactions, least=least, **{**fields, **more}
    )


SIDE_BY_SIDE = row("global load", [4 * lane for lane in range(32)], 4, 4)
APART = row("global store", [32 * lane for lane in range(32)], 32, 4, line=5)
COLUMN = row("shared load", [128 * lane for lane in range(32)], 32, 1, array="tile", line=7)
SAME = row("shared load", [0] * 32, 1, 1, array="tile", line=8)
BINS = row("global atomic", [4 * (lane % 8) for lane in range(32)], 4, 1, array="bins", line=9)


def drawn(figure: Figure) -> list[tuple[str, int, list[str]]]:
    """Return of each field its title, the number of its cells, and what stands in them."""
    figure.canvas.draw()
    return [
        (axes.get_title(loc="left"), len(axes.patches), [text.get_text() for text in axes.texts[:-1]])
        for axes in figure.axes
    ]


def test_a_cell_for_each_word_and_its_lane() -> None:
    """Sectors show what moves for nothing, banks what waits, addresses the turns of atomics."""
    fields = drawn(plot(Counts((SIDE_BY_SIDE, APART, COLUMN, SAME, BINS), "odd/a")))
    assert [len(cells) for _, _, cells in fields] == [32, 32, 32, 1, 32]
    assert [patches for _, patches, _ in fields] == [4 * 8, 32 * 8, 32, 1, 32]
    assert fields[0][0] == "odd/a:3: global load x, in all 4 sectors" and fields[0][2][:3] == ["0", "1", "2"]
    assert fields[1][0] == "odd/a:5: global store x, in all 32 sectors, 4 would do"
    assert fields[2][0].endswith("shared load tile, in all 32 passes, 1 would do")
    assert fields[3][2] == ["0+"]  # one word for all lanes


def test_wide_elements_take_several_words() -> None:
    """A lane that wants 16 bytes has four cells."""
    wide = row("global load", [16 * lane for lane in range(32)], 16, 16, width=16)
    ((_, patches, cells),) = drawn(plot(Counts((wide,), "odd/a")))
    assert patches == len(cells) == 128 and cells.count("5") == 4


def test_two_kernels_stand_beside_each_other() -> None:
    """Each has a column of its own; the six lines that take most beyond what they need are drawn."""
    other = [
        row("global load", [32 * lane for lane in range(32)], 32 + line, 4, "odd/b", line=line) for line in range(1, 9)
    ]
    figure = plot(Counts((SIDE_BY_SIDE, *other), "odd/a"))
    titles = [title for title, _, _ in drawn(figure) if title]
    assert len(figure.axes) == 12 and titles[0].startswith("odd/a:3") and len(titles) == 7
    assert not any(title.startswith(("odd/b:1:", "odd/b:2:")) for title in titles)


def test_the_picture_says_that_it_is_no_timing() -> None:
    """Device and conditions stand above it, and its words for those who cannot see it."""
    figure = plot(Counts((APART,), "odd/a"))
    head = " ".join(text.get_text() for text in figure.texts)
    assert "cuda-cpu" in head and "no times" in head and "32 sectors, 4 would do" in figure.words  # type: ignore[attr-defined]


def test_nothing_to_draw_is_refused() -> None:
    """Launches that touch no memory have no picture."""
    with pytest.raises(InputError, match="no launch touches memory"):
        plot(Counts((row("launch", [], 0, 0, array=""),), "odd/a"))
    with pytest.raises(InputError, match=r"what benchmark, memory, sweep, counts, trace or roofline gave"):
        li.plot(3)
