"""Why a kernel is as fast as it is: its loops in machine code, what the compiler says of its lines, the roofs above it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING

from ...base.arguments import plural
from ...tables.words import percent
from ..parts import Cell, Html, Prose, badge, bar, fold, join, note, paragraph, table, tag, with_code
from ..source import coloured, instructions

if TYPE_CHECKING:
    from ...analysis.assembly import Assembly, Routine
    from ...analysis.loops import Instruction, Loop
    from ...analysis.roofline import Roofline
    from ...analysis.why import Remark

#: Of a bar, in pixels: in a page, and in a pane beside the text.
_WIDE, _NARROW = 150, 60


def assembly(shown: Assembly) -> Html:
    """Show the loops of a kernel: what each does at a time, and, folded, each line of the text beside its instructions."""
    parts: list[object] = []
    lines, left = coloured(shown.text, "cpp"), shown.MOST
    for title, kinds in shown.by_text.items():
        folds = []
        for loop, many in kinds:
            folds.append(fold(_summary(loop, many), _beside(loop, lines, left)))
            left = max(0, left - len(loop.instructions))
        parts.append(fold(title, join(folds)) if len(folds) > 1 else join([paragraph(title), *folds]))
    left_out = shown.left_out([loop for kinds in shown.by_text.values() for loop, _ in kinds])
    return join([*_head(shown), *_asked(shown), *parts, *_foot(shown, left_out)])


def listing(shown: Assembly) -> Html:
    """Show all instructions of a kernel's functions, those of one line together under its number: for who has the text beside it.

    A function without a loop is folded.
    """
    parts, left = [*_head(shown), *_asked(shown, is_beside=True)], shown.MOST
    for routine in sorted(shown.routines, key=lambda each: not each.loops):
        count = len(routine.instructions)
        title = join([*_named(routine), f", {plural(count, 'instruction')}"])
        parts.append(fold(title, _by_line(routine, left), open=bool(routine.loops)))
        left = max(0, left - count)
    return join([*parts, *_foot(shown, shown.left_out(shown.routines))])


def _foot(shown: Assembly, left_out: Sequence[str]) -> list[Html]:
    """Say what is not listed, and why there is no loop."""
    return [note("plain", said) for said in (*left_out, *[shown.without_loops] * (not shown.loops))]


def _asked(shown: Assembly, *, is_beside: bool = False) -> list[object]:
    """Lay out what else was asked for: to which lines the time goes, what the compiler says; narrow where the text stands beside it."""
    parts: list[object] = []
    if shown.hot is not None:
        rows = [
            [percent(share), bar(share, width=_NARROW if is_beside else _WIDE), *_placed(line, text, inside)]
            for share, line, text, inside in shown.hot.rows(shown.text.split("\n"))
        ]
        head = (Cell("share", span=2), "line", "text")
        caption, _, more = shown.hot.headline.partition("; ")
        parts.append(table(head, rows, caption=caption.rstrip(":")) if rows else note("plain", shown.hot.headline))
        parts += [paragraph(more.rstrip(":"), cls="li-faint")] if rows and more else []
    if shown.remarks is not None:
        parts.append(_remarks(shown.remarks, shown.text, is_beside))
    return parts


def _linked(line: str, text: object) -> tuple[Html, Html]:
    """Give the cells of a line, its number and its text, for the panel to light up beside its editor."""
    return tag("span", line, data_line=line), tag("code", text, cls="li-code", data_line=line)


def _placed(line: str, text: str, inside: str) -> tuple[object, object]:
    """Give the cells of a line and what it calls, or of a library alone."""
    if not line:
        return "", inside
    number, code = _linked(line, text)
    return number, join([code, tag("div", inside)]) if inside else code


def _head(shown: Assembly) -> list[object]:
    """Say what it is of, what is missing, and what is different from another revision."""
    parts: list[object] = [paragraph(tag("b", shown.headline))]
    parts += [paragraph(said, cls="li-faint") for said in (shown.threads, shown.note) if said]
    for said in shown.differences[:1]:
        same = [loop for loop in shown.differences[1:] if loop.endswith(", as before")]
        parts += [paragraph(said), _bullets([loop for loop in shown.differences[1:] if loop not in same])]
        parts += [fold(f"{plural(len(same), 'loop')} as before", _bullets(same))] if same else []
    return parts


def _bullets(lines: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", line.strip()) for line in lines)) if lines else Html("")


def _named(routine: Routine) -> list[object]:
    return [tag("code", routine.short), f": {routine.uses}" if routine.uses else ""]


def _by_line(routine: Routine, most: int) -> Html:
    """List the instructions of a function; where a loop begins, it is said what it does at a time."""
    told: list[Loop] = []
    blocks: list[object] = []
    for loop, together in routine.by_loop():
        if loop is not None and loop not in told:
            told.append(loop)
            blocks.append(paragraph(tag("b", "loop"), f": {loop.said}"))
        for line, each in groupby(together, key=lambda one: one.line):
            listed = list(islice(each, most))
            most -= len(listed)
            number = tag("span", str(line or ""), cls="li-no")
            text = _code(listed)
            kind = "li-lines li-looped" if loop is not None else "li-lines"
            blocks.append(tag("div", number, tag("pre", text), cls=kind, data_line=str(line or "")) if listed else "")
    return join(blocks)


def _remarks(shown: tuple[Remark, ...], text: str, is_beside: bool) -> Html:
    """Lay out what the compiler says: line, text, what it did or why not, and what would help; without the text where that is beside it."""
    lines, is_measured = coloured(text, "cpp"), any(one.share is not None for one in shown)
    rows: list[list[object]] = []
    for one in shown:
        share = [Cell(percent(one.share) if one.share is not None else "", align="num")] * is_measured
        number, code = _linked(str(one.line), lines[one.line - 1])
        kind = "good" if one.is_good and not one.help else "plain"
        said = join([badge(one.what, kind), " ", with_code(f"{one.how}. {one.help}" if one.help else one.how)])
        rows.append([*share, number, *([said] if is_beside else [code, Prose(said)])])
    if not rows:
        return note("plain", "The compiler says nothing of the text, good or bad.")
    head = ("line", "what it says" if is_beside else "text, and below it what was done, or why not and what would help")
    return table((*["share"] * is_measured, *head), rows, caption="what the compiler says of the text")


def roofline(shown: Roofline) -> Html:
    """Show timings under the roofs: for each row a bar for its share of the roof above it, the roofs folded."""
    rows: list[list[object]] = []
    for row, point in zip(shown.timings.rows, shown.points(), strict=True):
        drawn = bar(shown.share(row), label=percent(shown.share(row)), width=_NARROW)
        said = Prose(join([drawn, " ", shown.words(row)]))
        rows.append([row.kernel, shown.timings.case(row), *(Cell(text, align="num") for text in point), said])
    head = ["kernel", "size", Cell("per byte", align="num"), Cell("reached", align="num")]
    names = ("threads", "arithmetic", *(level.name for level in shown.roofs[-1].levels))
    roofs = [[label, *(_below(names, cell) for cell in cells)] for label, *cells in shown.ceilings()]
    return join(
        [
            note("plain", shown.finding),
            table(head, rows, caption=shown.title),
            *(note("plain", doubt) for doubt in shown.doubts),
            fold("the roofs", table(names, roofs, caption=f"measured: {shown.roofs[-1].name}")),
            fold("conditions", paragraph(shown.timings.conditions(), cls="li-faint")),
        ]
    )


def _below(names: Sequence[str], text: str) -> Cell:
    """Leave out the name that stands at the head of the column."""
    return Cell(
        next((text.removeprefix(f"{name} ") for name in names if text.startswith(f"{name} ")), text), align="num"
    )


def _summary(loop: Loop, many: str) -> Html:
    return join([f"{loop.where}: ", tag("b", loop.pace), f", {loop.rest}{many}"])


def _code(listed: Sequence[Instruction]) -> Html:
    return tag("code", instructions("\n".join(one.text for one in listed)), cls="li-code")


def _beside(loop: Loop, lines: Sequence[Html], most: int) -> Html:
    """Lay out a loop: lines of the text on the left, what each became on the right."""
    rows: list[list[object]] = []
    for number, together in loop.by_line(most):
        code = tag("code", lines[number - 1], cls="li-code") if 0 < number <= len(lines) else ""
        rows.append([str(number or ""), code, tag("pre", _code(together))])
    return table(("line", "text", "instructions"), rows, caption=f"loop at {loop.where}")
