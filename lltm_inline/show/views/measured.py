"""What was measured: timings, sweeps, memory, counts and traces, in words first, then in figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..parts import Cell, Html, bar, filled, fold, hidden, join, note, paragraph, table, tag, with_interval

if TYPE_CHECKING:
    from ...tables.counts import Counts, CountsRow
    from ...tables.memory import Memory, MemoryRow
    from ...tables.sweep import Sweep
    from ...tables.table import Table
    from ...tables.timings import Row, Timings
    from ...tables.trace import Trace

_KINDS = {"faster": "good", "slower": "bad"}
_SIGNS = {"faster": "▲", "slower": "▼"}
#: Ends of the axis of speed-ups. Few of them, so that the axis stays where it is while the intervals shrink.
_ENDS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1e3, 1e6, 1e9)


def timings(shown: Timings) -> Html:
    """Show timings, those of a benchmark that still runs too: the verdict, a table with bars and whiskers, the conditions folded.

    A bar from the middle is a speed-up over the baseline with its interval, a bar from the left a median with its quartiles.
    """
    reach, compares = _reach(shown), len(shown.kernels) > 1

    def line(row: Row, cells: Sequence[str], rows: Sequence[Row]) -> list[object]:
        is_open = bool(shown.under_way(row))
        kind, longest = "plain" if is_open else _KINDS.get(row.outcome, "plain"), max(row.q3 for row in rows)
        drawn = bar(row.median / longest, row.q1 / longest, row.q3 / longest, kind=kind)
        said = [_figure(cells[1]), *[""] * compares]
        if row.kernel != shown.baseline:
            ratios = (row.speedup if row.outcome != "unknown" else 1.0, row.speedup_low, row.speedup_high)
            ends = [0.5 + math.log(ratio) / math.log(reach) / 2 for ratio in ratios if ratio]
            # Of what is too noisy to tell the whisker alone; of too few rounds nothing.
            said = [_compared(row, cells[1]), bar(*ends, start=0.5, kind=kind) if len(ends) == 3 else ""]
        *rates, share = cells[2:]
        return [*said, _figure(cells[0]), drawn, *(Cell(rate, align="num") for rate in rates), share]

    rates = (Cell(name, align="num") for name in shown._heads[2:-1])
    heads = (Cell("speed-up", span=1 + compares), Cell("median and quartiles", span=2))
    return _table(shown, ["kernel", *heads, *rates, shown._heads[-1]], line)


def _reach(shown: Timings) -> float:
    """Return the end of the axis of speed-ups: beyond all estimates, and beyond intervals unless they are very wide."""
    ends = [
        (row.speedup, max(row.speedup_low, row.speedup / 3), min(row.speedup_high, row.speedup * 3))
        for row in shown.rows
        if row.speedup_low and row.speedup_high
    ]
    most = max((max(ratio, 1 / ratio) for each in ends for ratio in each), default=1.0)
    return next((end for end in _ENDS if end >= most * 0.999), _ENDS[-1])


def memory(shown: Memory) -> Html:
    """Show a measurement of memory: the verdict, and a table with a bar for what is held and one for the peak."""

    def line(row: MemoryRow, cells: Sequence[str], rows: Sequence[MemoryRow]) -> list[object]:
        most = max([1, *(max(row.held, row.peak) for row in rows)])
        held, outputs, peak = cells
        return [_figure(held), bar(row.held / most), _figure(outputs), _figure(peak), bar(row.peak / most)]

    head: list[object] = ["kernel", Cell("held for backward", span=2), "of it outputs", Cell("peak", span=2)]
    return _table(shown, head, line)


def counts(shown: Counts) -> Html:
    """Show counts: the verdict, the totals with a bar for what is taken and a whisker at what would do, and line by line, folded."""

    def line(row: CountsRow, cells: Sequence[str], rows: Sequence[CountsRow]) -> list[object]:
        most = max([1, *(beside.transactions for beside in rows)])
        least = row.least / most
        drawn = bar(row.transactions / most, least, least) if row.unit else ""
        return [*(Cell(cell, align="num") for cell in cells), drawn]

    if not shown.rows:
        return paragraph(str(shown))
    names = [Cell(name, align="num") for name in shown._heads]
    lines = [[*told, Cell(times, align="num"), takes] for *told, times, takes in shown.lines()]
    places = table(("line", "direction", "what", "array", names[1], "takes"), lines, caption="line by line")
    return join([_table(shown, ["kernel", *names, ""], line), fold("line by line", places)])


def trace(shown: Trace) -> Html:
    """Show a trace: what was touched how often, and an access a row, values to the right."""
    if not shown.rows:
        return paragraph(str(shown))
    cells = [shown.heads, *map(shown.cells, shown.shown)]
    head, *lines = [[Cell(order, align="num"), *rest, Cell(value, align="num")] for order, *rest, value in cells]
    return join([_verdict_note(shown), table(head, lines, caption=shown.caption), _conditions(shown)])


def _table(
    shown: Table[Any], head: Sequence[object], line: Callable[[Any, Sequence[str], Sequence[Any]], list[object]]
) -> Html:
    """Show any table of measurements: the verdict, the rows under a heading for each case, the conditions folded.

    Args:
        shown: the table.
        head: the names of the columns.
        line: makes the cells of a row, of its texts and of the rows of the same case.
    """
    if not shown.rows:
        return paragraph(str(shown))
    rows: list[list[object]] = []
    for case, beside in shown.cases().items():
        rows += [[f"{case}, {now}" if (now := shown.under_way(beside[0])) else case]]
        rows += [[row.kernel, *line(row, shown.cells(row), beside)] for row in beside]
    return join([_verdict_note(shown), table(*filled(head, rows), caption=shown.caption), _conditions(shown)])


def _is_final(shown: Table[Any]) -> bool:
    """Tell whether no rounds come in; while they do nothing has a colour, and nothing folds, as each drawing would close it again."""
    return not any(map(shown.under_way, shown.rows))


def _conditions(shown: Table[Any]) -> Html | str:
    conditions = paragraph(shown.conditions(), cls="li-faint") if shown.conditions() else ""
    return fold("conditions", conditions) if conditions and _is_final(shown) else conditions


def _verdict_note(shown: Table[Any]) -> Html:
    """Say what was found; with several sizes the figures of each fold behind the overall one."""
    sentences: list[tuple[str, list[str]]] = []
    is_final = _is_final(shown)
    for line in shown.verdict().split("\n"):
        if line.startswith("  ") and sentences:
            sentences[-1][1].append(line.strip())
        else:
            sentences.append((line, []))
    found = {kind for sentence, _ in sentences for word, kind in _KINDS.items() if f" {word} than " in sentence}
    kind = found.pop() if len(found) == 1 else "plain"
    parts: list[object] = []
    for sentence, details in sentences:
        said = tag("b", sentence)
        parts.append(fold(said, join(map(paragraph, details))) if details and is_final else paragraph(said))
    return note(kind if is_final else "plain", *parts)


def _figure(text: str, *after: object, cls: str = "") -> Html:
    """Write a number with its unit, and its interval beside it, or below it where the page is narrow."""
    number, opened, interval = text.partition(" (")
    beside = [with_interval(opened + interval, *after)] if opened else after
    return tag("span", tag("span", number, cls="li-whole"), *beside, cls=f"li-num {cls}".strip())


def _compared(row: Row, ratio: str) -> Html:
    """Say with a sign, a word and a colour how a row compares with the baseline."""
    if row.outcome == "unknown":
        return tag("span", with_interval(ratio), cls="li-num li-faint li-small")
    ratio = ratio.removesuffix(f" {row.finding}")
    if row.outcome in _SIGNS:
        sign = tag("span", f" {_SIGNS[row.outcome]}", aria_hidden="true")
        return _figure(ratio, sign, hidden(f" {row.outcome}"), cls=f"li-is-{_KINDS[row.outcome]}")
    return join([_figure(ratio), tag("span", f" {row.finding}", cls="li-faint li-small")])


def sweep(shown: Sweep) -> Html:
    """Show a sweep: the verdict, and the speed-ups over two params, on a background that says which are faster or slower."""
    points = {tuple(point.params.values()): point for point in shown.rows}
    names, *lines = shown.table()
    first, *others = (shown.params[name] for name in shown.params)
    rows: list[list[object]] = []
    for value, (head, *cells) in zip(first, lines, strict=True):
        across = [(value, other) for other in others[0]] if others else [(value,)]
        # The background says what was found; what is no finding has none.
        kinds = ["plain" if (row := points[at].row) is None else _KINDS.get(row.outcome, "") for at in across]
        rows.append([head, *(Cell(cell, kind, "mid") for cell, kind in zip(cells, kinds, strict=True))])
    caption = f"speed-up over {shown.kernel} as it stands, {shown.base.size_text}, {shown.base.direction}"
    sentences = [paragraph(line.strip()) for line in shown.verdict().split("\n")]
    return join(
        [
            note("good" if shown.best else "plain", *sentences),
            table([names[0], *(Cell(name, align="mid") for name in names[1:])], rows, caption=caption),
            _conditions(shown.timings),
        ]
    )
