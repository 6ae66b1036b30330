"""What was measured: timings, sweeps and memory, in words first, then in figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..markup import Html, hidden, join, tag
from ..parts import Cell, bar, fold, note, paragraph, table

if TYPE_CHECKING:
    from ...run.footprint import Memory
    from ...run.swept import Point, Sweep
    from ...run.timings import Row, Timings

_KINDS = {"faster": "good", "slower": "bad"}
_RATES = ("GFLOP/s", "GB/s", "share of peak")
_SIGNS = {"faster": "▲", "slower": "▼"}


def timings(shown: Timings) -> Html:
    """Show timings: the verdict, a table with a bar for each median and a whisker over its quartiles, the conditions folded."""
    if not shown.rows:
        return paragraph(str(shown))
    cases = shown.cases()
    filled = {
        name
        for lines in cases.values()
        for _, cells in lines
        for name, cell in zip(_RATES, cells[3:], strict=True)
        if cell
    }
    rates = [number for number, name in enumerate(_RATES, 3) if name in filled]
    rows: list[list[object]] = []
    for (size, direction), lines in cases.items():
        rows.append([f"{size}, {direction}"])
        longest = max(row.q3 for row, _ in lines)
        for row, cells in lines:
            drawn = bar(row.median / longest, row.q1 / longest, row.q3 / longest, kind=_KINDS.get(row.outcome, "plain"))
            said = _figure(cells[2]) if row.kernel == shown.baseline else _compared(row, cells[2])
            rows.append(
                [cells[0], drawn, _figure(cells[1]), said, *(Cell(cells[number], align="num") for number in rates)]
            )
    head: list[object] = ["kernel", Cell("median and quartiles", span=2), "speed-up"]
    head += [Cell(_RATES[number - 3], align="num") for number in rates]
    return join(
        [
            _verdict(shown),
            table(head, rows, caption=shown.title),
            fold("conditions", paragraph(shown.conditions(), cls="li-faint")),
        ]
    )


def _figure(text: str) -> Html:
    """Write a number, its interval and its unit in one line, however narrow the page is."""
    return tag("span", text, cls="li-num")


def _verdict(shown: Timings) -> Html:
    """Say what was found; with several sizes the figures of each fold behind the overall one."""
    sentences: list[tuple[str, list[str]]] = []
    for line in shown.verdict().split("\n"):
        if line.startswith("  ") and sentences:
            sentences[-1][1].append(line.strip())
        else:
            sentences.append((line, []))
    found = {kind for sentence, _ in sentences for word, kind in _KINDS.items() if f"x {word} than " in sentence}
    kind = found.pop() if len(found) == 1 else "plain"
    parts: list[object] = []
    for sentence, details in sentences:
        said = tag("b", sentence)
        parts.append(fold(said, join(map(paragraph, details))) if details else paragraph(said))
    return note(kind, *parts)


def _compared(row: Row, ratio: str) -> Html:
    """Say with a sign, a word and a colour how a row compares with the baseline."""
    if row.outcome in _SIGNS:
        sign = tag("span", f" {_SIGNS[row.outcome]}", aria_hidden="true")
        return tag("span", ratio, sign, hidden(f" {row.outcome}"), cls=f"li-num li-is-{_KINDS[row.outcome]}")
    return join([_figure(ratio), tag("span", f" {row.finding}", cls="li-faint li-small")])


def sweep(shown: Sweep) -> Html:
    """Show a sweep: the verdict, and the speed-ups over two params, on a ground that says which are faster or slower."""
    points = {tuple(point.params.values()): point for point in shown.rows}
    names, *lines = shown.table()
    first, *others = (shown.params[name] for name in shown.params)
    rows: list[list[object]] = []
    for value, (head, *cells) in zip(first, lines, strict=True):
        across = [(value, other) for other in others[0]] if others else [(value,)]
        kinds = [_kind(points[at]) for at in across]
        rows.append([head, *(Cell(cell, kind, "mid") for cell, kind in zip(cells, kinds, strict=True))])
    caption = f"speed-up over {shown.kernel} as it stands, {shown.base.size_text}, {shown.base.direction}"
    sentences = [paragraph(line.strip()) for line in shown.verdict().split("\n")]
    return join(
        [
            note("good" if shown.best else "plain", *sentences),
            table([names[0], *(Cell(name, align="mid") for name in names[1:])], rows, caption=caption),
            fold("conditions", paragraph(shown.timings.conditions(), cls="li-faint")),
        ]
    )


def _kind(point: Point) -> str:
    """Say which ground a cell has; what is no finding has none."""
    return "plain" if point.row is None else _KINDS.get(point.row.outcome, "")


def memory(shown: Memory) -> Html:
    """Show a measurement of memory: the verdict, and a table with a bar for what is held and one for the peak."""
    if not shown.rows:
        return paragraph(str(shown))
    rows: list[list[object]] = []
    for size, lines in shown.cases().items():
        rows.append([size])
        most = max([1, *(max(row.held, row.peak) for row, _ in lines)])
        for row, (name, held, outputs, peak) in lines:
            rows.append(
                [name, bar(row.held / most), _figure(held), _figure(outputs), bar(row.peak / most), _figure(peak)]
            )
    head: list[object] = ["kernel", Cell("held for backward", span=2), "of it outputs", Cell("peak", span=2)]
    return join(
        [
            note("plain", *_sentences(shown.verdict().split("\n"))),
            table(head, rows, caption=shown.caption),
            fold("conditions", paragraph(shown.conditions(), cls="li-faint")),
        ]
    )


def _sentences(lines: Iterable[str]) -> list[Html]:
    return [paragraph(tag("b", line)) for line in lines]
