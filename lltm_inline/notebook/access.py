"""The picture of counts: which thread of a warp wants which address, and what the memory does for it.

A field for each line that loads, stores or changes something, with a column for each transaction that global memory makes (a sector of
32 bytes), for each bank of shared memory, or for each address that atomics change. A cell bears the number of the lane that wants it.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, product, zip_longest

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..errors import InputError
from ..tables.counts import Counts, CountsRow
from .figure import GREY, open_figure

_SECTOR, _WORD, _BANKS, _WARP = 32, 4, 32, 32
#: So many lines of a kernel are drawn; those that take most beyond what they need.
_MOST_LINES = 6
_COLOURS = colormaps["viridis"].resampled(_WARP)
_UNUSED = "#e4e4e4"

#: Lanes by the place of their cell: column and row.
_Cells = dict[tuple[int, int], list[int]]


def plot_counts(counts: Counts, size: tuple[float, float] | None) -> Figure:
    """Draw for each kernel, beside each other, the warp access of each line that takes most."""
    drawn = {kernel: _lines(counts, kernel) for kernel in counts.kernels}
    if not any(drawn.values()):
        raise InputError("no launch touches memory: there is nothing to plot")
    lines = list(zip_longest(*([(row, *_cells(row)) for row in rows] for rows in drawn.values())))
    inches = [0.55 + 0.14 * max(field[3] for field in beside if field) for beside in lines]
    first = next(row for rows in drawn.values() for row in rows)
    title = f"{first.subject}: {first.size_text.replace(' ', ', ')}"
    how = "of each line the request of a warp that takes most · a number is a lane of the warp · grey moves for nothing · no times"
    words = f"{title}: which lane wants which address. {counts.verdict()}"
    figure = open_figure(title, how, words, inches=(max(5.2, 7.2 * len(drawn)), sum(inches)), size=size)
    grid = figure.subplots(len(lines), len(drawn), squeeze=False, height_ratios=inches)
    for axes, field in zip(grid.flat, chain(*lines), strict=True):
        axes.set_axis_off()
        if field:
            _field(axes, *field)
    return figure


def _lines(counts: Counts, kernel: str) -> list[CountsRow]:
    """Choose the lines of a kernel that are drawn, at the first size: those that take most beyond what they need."""
    rows = [row for row in counts.rows if row.kernel == kernel and row.unit and any(at >= 0 for at in row.lanes)]
    rows = [row for row in rows if row.size == rows[0].size]
    kept = sorted(rows, key=lambda row: -row.extra)[:_MOST_LINES]
    return [row for row in rows if row in kept]


def _cells(row: CountsRow) -> tuple[_Cells, int, int]:
    """Say where the lanes of a request stand: the lanes of each cell, the columns, the rows."""
    cells: _Cells = defaultdict(list)
    wanted = [(lane, at) for lane, at in enumerate(row.lanes) if at >= 0]
    if row.what.endswith("atomic"):
        addresses = sorted({at for _, at in wanted})
        turns: dict[int, int] = defaultdict(int)
        for lane, at in wanted:
            cells[addresses.index(at), turns[at]].append(lane)
            turns[at] += 1
        return cells, len(addresses), max(turns.values())
    words = [
        (lane, word) for lane, at in wanted for word in range(at // _WORD, (at + max(1, row.width) - 1) // _WORD + 1)
    ]
    if row.what.startswith("shared"):
        banks: dict[int, list[int]] = defaultdict(list)
        for lane, word in words:
            bank = banks[word % _BANKS]
            if word not in bank:
                bank.append(word)
            cells[word % _BANKS, bank.index(word)].append(lane)
        return cells, _BANKS, max(map(len, banks.values()))
    per_sector = _SECTOR // _WORD
    sectors = sorted({word // per_sector for _, word in words})
    for lane, word in words:
        cells[sectors.index(word // per_sector), word % per_sector].append(lane)
    return cells, len(sectors), per_sector


def _field(axes: Axes, row: CountsRow, cells: _Cells, across: int, down: int) -> None:
    """Draw the cells of one line, and above them what they are."""
    whole = row.what.startswith("global") and not row.what.endswith("atomic")
    for column, place in product(range(across), range(down)):
        lanes = cells.get((column, place), [])
        if lanes or whole:
            colour = _COLOURS(lanes[0]) if lanes else _UNUSED
            axes.add_patch(Rectangle((column, place), 0.92, 0.9, facecolor=colour, edgecolor="none"))
        if lanes:
            named, ink = f"{lanes[0]}{'+' * (len(lanes) > 1)}", "white" if lanes[0] < _WARP * 0.6 else "black"
            axes.text(column + 0.46, place + 0.48, named, ha="center", va="center", fontsize=5, color=ink)
    axes.set_xlim(0, max(across, _BANKS))
    axes.set_ylim(down, 0)
    best = f", {row.least} would do" if row.extra else ""
    axes.set_title(f"{row}, in all {row.transactions} {row.unit}{best}", fontsize=8, loc="left", color="black")
    what = {"sectors": "a column is a sector of 32 bytes", "passes": "a column is a bank, a row a pass"}[row.unit]
    what = "a column is an address, a row a turn" if row.what.endswith("atomic") else what
    axes.text(0, down + 0.15, what, fontsize=6.5, color=GREY, va="top")
