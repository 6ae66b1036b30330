"""The pictures of counts and of a trace: which thread wants which address, what the memory does for it, and in which order.

Of counts, a field for each line that loads, stores or changes something, with a column for each transaction that global memory makes
(a sector of 32 bytes), for each bank of shared memory, or for each address that atomics change. A cell bears the number of the lane
that wants it. Of a trace, a field for each array, with a cell for each element.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, product, zip_longest

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..errors import InputError
from ..tables.counts import Counts, CountsRow
from ..tables.trace import Trace, TraceRow, place_text
from .figure import GREY, open_figure

_SECTOR, _WORD, _BANKS, _WARP = 32, 4, 32, 32
#: So many lines of a kernel are drawn; those that take most beyond what they need.
_MOST_LINES = 6
_COLOURS = colormaps["viridis"].resampled(_WARP)
_UNUSED = "#e4e4e4"

#: Of an array of a trace so many rows and columns are drawn, the first that are touched; up to so many, two accesses to each are told.
_MOST_ROWS, _MOST_COLUMNS, _FEW = 16, 32, 16

#: Lanes by the place of their cell: column and row.
_Cells = dict[tuple[int, int], list[int]]
#: The accesses to each element of a trace, by line and column.
_Touched = dict[tuple[tuple[int, ...], int], list[TraceRow]]


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


def plot_trace(trace: Trace, size: tuple[float, float] | None) -> Figure:
    """Draw for each array of each launch which threads touch its elements, and when."""
    if not trace.rows:
        raise InputError("nothing was loaded or stored: there is nothing to plot")
    arrays: dict[tuple[object, ...], list[TraceRow]] = defaultdict(list)
    for row in trace.rows:  # each block has shared memory of its own
        arrays[row.launch, row.array, row.block * row.what.startswith("shared")].append(row)
    fields = [(rows, _touched(rows)) for rows in list(arrays.values())[:_MOST_LINES]]
    inches = [0.5 + 0.34 * min(_MOST_ROWS, len({line for line, _ in cells})) for _, cells in fields]
    order: dict[object, int] = {
        who: number for number, who in enumerate(dict.fromkeys((row.block, row.thread) for row in trace.rows))
    }
    title = f"{trace.rows[0].kernel}: {trace.rows[0].size_text.replace(' ', ', ')}, {trace.rows[0].direction}"
    figure = open_figure(
        title,
        "a cell is an element, grey where nobody touches it · above: when it is touched, bold if it is stored · below, and by colour: "
        f"by which thread, the last one's · {trace.conditions()}",
        f"{title}: which thread touches which element, and when. {trace.verdict()}",
        inches=(9.0, sum(inches)),
        size=size,
    )
    grid = figure.subplots(len(fields), 1, squeeze=False, height_ratios=inches)
    for axes, (rows, cells) in zip(grid[:, 0], fields, strict=True):
        axes.set_axis_off()
        _elements(axes, rows[0], cells, order)
    return figure


def _touched(rows: Sequence[TraceRow]) -> _Touched:
    """Sort the accesses to an array by line and column: the last axis is a line; one axis alone is wrapped."""
    cells: _Touched = defaultdict(list)
    for row in rows:
        *line, column = row.index or (0,)
        if not line:
            line, column = [column // _MOST_COLUMNS * _MOST_COLUMNS], column % _MOST_COLUMNS
        cells[tuple(line), column].append(row)
    return cells


def _elements(axes: Axes, first: TraceRow, cells: _Touched, order: Mapping[object, int]) -> None:
    """Draw the elements of an array, as many as there is room for."""
    every = sorted({line for line, _ in cells})
    lines, left = every[:_MOST_ROWS], min(column for _, column in cells) if len(first.index) > 1 else 0
    right = 1 + max(column for _, column in cells)
    if first.shape:
        right = min(max(right, first.shape[-1]), left + _MOST_COLUMNS)
    across = min(right - left, _MOST_COLUMNS)
    for down, line in enumerate(lines):
        name = "".join(f"[{at}]" for at in line) if len(first.index) > 1 else str(line[0])
        axes.text(-0.1, down + 0.45, name, ha="right", va="center", fontsize=6.5, color=GREY)
        for column in range(left, left + across):
            if len(first.index) < 2 and first.shape and line[0] + column >= first.shape[0]:
                continue
            _element(axes, (column - left, down), cells.get((line, column), []), order, across)
    axes.set_xlim(0, max(across, 12))
    axes.set_ylim(len(lines), 0)
    more = f", {len(every) - len(lines)} more rows are touched" * (len(every) > len(lines))
    at = f" of block {place_text(first.block)}" * first.what.startswith("shared")
    where = f", in launch {first.launch}: {first.function}" * (first.function != first.direction)  # C++ has none
    axes.set_title(f"{first.array}{at}{where}{more}", fontsize=8, loc="left")


def _element(
    axes: Axes, at: tuple[int, int], touched: Sequence[TraceRow], order: Mapping[object, int], across: int
) -> None:
    """Draw one element: when and by whom it is touched."""
    whom = dict.fromkeys((row.block, row.thread) for row in touched)
    share = order[touched[-1].block, touched[-1].thread] / max(1, len(order) - 1) if touched else 0.0
    axes.add_patch(Rectangle(at, 0.92, 0.9, facecolor=_COLOURS(share) if touched else _UNUSED, edgecolor="none"))
    if touched:
        most = 1 + (across <= _FEW)
        told = [
            _some([str(row.order) for row in touched], most),
            _some([f"t{_short(thread)}" for _, thread in whom], most),
        ]
        axes.text(
            at[0] + 0.46, at[1] + 0.47, "\n".join(told), ha="center", va="center",
            fontsize=min(7.0, 850 / max(across, 12) / max(map(len, told))), color="white" if share < 0.6 else "black",
            weight="normal" if all(row.what.endswith("load") for row in touched) else "bold",
        )  # fmt: skip


def _some(words: Sequence[str], most: int) -> str:
    return " ".join(words[:most]) + "+" * (len(words) > most)


def _short(at: Sequence[int]) -> str:
    return ",".join(map(str, at)).removesuffix(",0").removesuffix(",0")
