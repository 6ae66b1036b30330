"""What is right and wrong with a kernel: a check's report, a build that failed, a kernel that crashed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ...base.arguments import plural
from ...checking.report import COPIED, alike
from ..parts import Cell, Html, badge, cross, fold, folded, join, note, paragraph, right_or_wrong, table, tag, tick
from ..source import excerpt

if TYPE_CHECKING:
    from ...autopsy.crash import Crash
    from ...checking.report import Finding, Grid, Report, Section
    from ...diagnosis.diagnostics import Diagnostic
    from ...errors import BuildError, CheckError, CrashError
    from ...run.executor import Printed

_MOST_OTHERS = 20
_PRINTED, _OUTPUT = "what the kernel printed", "output of the kernel"


def report(shown: Report) -> Html:
    """Show a report: verdict, each section, open where it found something, then the matrix of outputs and gradients by case."""
    kind = "good" if shown.ok else "plain" if shown.forward_only else "bad"
    wrong = "wrong" if shown.crash is None else "timed out" if shown.crash.kind == "timeout" else "crashed"
    verdict = badge(wrong if kind == "bad" else shown.verdict, kind)
    cases = sum(section.cases for section in shown.sections)
    count = plural(cases, "case") if cases else "nothing could be checked"
    head = paragraph(verdict, " ", tag("b", shown.kernel), f" on {shown.device}: {count}, {shown.seconds:.1f} s")
    told: set[str] = set()
    parts = [crash(shown.crash)] if shown.crash is not None else []
    parts += [_section(section, shown, told) for section in shown.sections]
    return join([head, *parts, _matrix(shown), folded(_PRINTED, shown.printed, label=_OUTPUT, open=True)])


def printed(shown: Printed) -> Html:
    """Show what a kernel printed while it was measured, folded."""
    return folded(_PRINTED, shown.text, label=_OUTPUT)


def _matrix(shown: Report) -> Html:
    if not shown.matrix:
        return Html()
    rows = [
        [Cell(", ".join(groups), align="wrap"), *map(_cell, cells)] for cells, groups in alike(shown.faults).items()
    ]
    head = ["in the cases", *(Cell(quantity, align="mid") for quantity in shown.faults)]
    caption = "outputs and gradients by size and layout"
    matrix = table(head, rows, caption=caption, hide_caption=shown.ok)
    if not shown.ok:
        return join([matrix, paragraph(shown.legend, cls="li-faint") if shown.legend else ""])
    return fold(caption, matrix, True)


def _cell(text: str) -> Cell:
    """Make a cell of the matrix: what the text never saw as it lay is neither right nor wrong."""
    return Cell(tag("span", text, cls="li-faint"), align="mid") if text == COPIED else right_or_wrong(text)


def _section(section: Section, shown: Report, told: set[str]) -> Html:
    """Show a section, without what an earlier one has said already."""
    count = len(section.findings)
    looked_at = count or section.cases
    cases = f"{plural(count, 'finding')} in " * bool(count) + plural(section.cases, "case")
    sign, said = tag("span", "-"), ": nothing was checked"
    if looked_at:
        sign, said = tag("span", tick(section.ok), cls=f"li-is-{'good' if section.ok else 'bad'}"), f": {cases}"
    time = tag("span", f", {section.seconds:.1f} s", cls="li-faint") if section.seconds >= 0.05 else ""
    title = join([sign, " ", tag("b", shown.title(section)), said, time])
    findings = [finding for finding in shown.told if finding.section == section.name]
    new = [finding for finding in findings if finding.text not in told]
    told.update(finding.text for finding in new)
    body: list[object] = [_finding(finding) for finding in new]
    again = dict.fromkeys(finding.quantity for finding in findings if finding not in new)
    if again:
        body.append(paragraph(f"the same as above, of {', '.join(again)}", cls="li-faint"))
    body += [paragraph(f"not tried: {reason}", cls="li-faint") for reason in section.skipped]
    body += [paragraph(f"note: {text}", cls="li-faint") for text in section.notes]
    return fold(title, join(body), bool(new)) if body else tag("div", title, cls="li-flat")


def _finding(finding: Finding) -> Html:
    smallest = f"; smallest failing size: {finding.smallest}" if finding.smallest else ""
    quantity = finding.quantity if finding.text.startswith(finding.quantity) else ""
    return note(
        "bad",
        paragraph(tag("b", quantity) if quantity else "", finding.text.removeprefix(quantity)),
        paragraph(f"at {finding.case}{smallest}", cls="li-faint") if finding.case else "",
        _picture(finding.quantity, finding.grid) if finding.grid is not None else "",
        *(paragraph(tag("b", "hint: "), hint) for hint in finding.hints),
    )


def _picture(quantity: str, grid: Grid) -> Html:
    """Draw which elements are wrong, the stronger the more of them, and say how the picture lies."""
    down, across = len(grid.cells), len(grid.cells[0])
    strokes: dict[str, str] = {}
    for row, letters in enumerate(grid.cells):
        for run in re.finditer(r"([^.])\1*", letters):
            strokes[run[1]] = f"{strokes.get(run[1], '')}M{run.start()} {row}.5h{len(run[0])}"
    paths = [tag("path", d=d, stroke_opacity=_STRENGTH[letter]) for letter, d in sorted(strokes.items())]
    cell = " x ".join(str(-(-length // cells)) for length, cells in ((grid.rows, down), (grid.columns, across)))
    rows = f"{plural(grid.rows, grid.row)} down, " * (grid.rows > 1)
    words = [f"filled is wrong: {rows}{plural(grid.columns, grid.column)} across"]
    words += [f"a cell is {cell} elements, the stronger the more of them are wrong"] * (cell != "1 x 1")
    size = {"width": across * _CELL, "height": down * _CELL, "viewBox": f"0 0 {across} {down}"}
    said = {"role": "img", "aria_label": f"where {quantity} is wrong, row by row: {_spoken(grid.cells)}"}
    drawn = tag("svg", tag("rect", width=across, height=down), *paths, cls="li-grid", **said, **size)
    return tag("figure", drawn, tag("figcaption", "; ".join(words), cls="li-faint"))


def _spoken(cells: Sequence[str]) -> str:
    """Say which cells of which rows are filled, rows that are alike in one; of a scattered picture the beginning."""
    said = []
    for letters, rows in groupby(enumerate(cells), key=lambda each: each[1]):
        numbers = [number for number, _ in rows]
        runs = [_range(run.start(), run.end() - 1) for run in re.finditer(r"[^.]+", letters)]
        if runs:
            more = " and more" * (len(runs) > _MOST_SPOKEN)
            said.append(f"{_range(numbers[0], numbers[-1])}: cells {', '.join(runs[:_MOST_SPOKEN])}{more}")
    return "; ".join([*said[:_MOST_SPOKEN], *["..."] * (len(said) > _MOST_SPOKEN)])


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


_MOST_SPOKEN = 6
#: How strong a cell is, by its letter; a single wrong element is still seen.
_STRENGTH = {**{str(tenths): f"{0.3 + 0.06 * tenths:.2f}" for tenths in range(1, 10)}, "#": "1"}
#: Pixels of a cell's side.
_CELL = 7


def crash(shown: Crash) -> Html:
    """Show a crash as a card: what happened, the line, what it touched, the likely cause, what was printed."""
    rows = [
        ("at", "; ".join(filter(None, (shown.case, ", ".join(shown.inputs))))),
        ("smallest failing size", shown.smallest),
        ("called from", ", ".join(shown.callers)),
        ("finished before", ", ".join(shown.finished)),
    ]
    facts = [paragraph(tag("span", f"{name}: ", cls="li-faint"), text) for name, text in rows if text]
    seen = [tag("code", shown.place) if shown.place else "", shown.detail]
    before = shown.output.strip("\n")
    return note(
        "bad",
        paragraph(cross(), tag("b", f"{shown.kernel} {shown.sentence}")),
        paragraph(join(filter(None, seen), ": ")) if any(seen) else "",
        excerpt(shown.excerpt, label=f"the line of {shown.kernel} where it happened") if shown.excerpt else "",
        paragraph(tag("b", "likely cause: "), shown.cause),
        *facts,
        folded("printed before", before, label=_OUTPUT, open=len(before) < 400),
    )


def build_error(error: BuildError) -> Html:
    """Show a failed build as a card: the first error with its lines and its cure, the others and the full log folded."""
    first, *lines = str(error).split("\n")
    found = error.diagnostics
    body: list[object] = [paragraph(cross(), tag("b", first))]
    if found:
        body.append(_diagnostic(found[0]))
        body += [_others(found, kind) for kind in ("error", "warning")]
        if lines and " from " in lines[-1]:
            body.append(paragraph(lines[-1].strip().partition("  Full log")[0], cls="li-small"))
    elif lines:
        body.append(tag("pre", "\n".join(lines), cls="li-wrap"))
    return note("bad", *body, folded("full log", error.log, label="log of compiler and linker", count=True))


def check_error(error: CheckError) -> Html:
    """Show the sentence, and the report of the kernel that is wrong."""
    said = note("bad", paragraph(cross(), tag("b", str(error))))
    return said if error.report is None else report(error.report)


def crash_error(error: CrashError) -> Html:
    """Show the crash that the error has."""
    return crash(error.crash)


def _diagnostic(found: Diagnostic) -> Html:
    kind = "plain" if found.severity == "warning" else "bad"
    notes = [tag("li", tag("code", line)) for line in found.notes]
    return join(
        [
            paragraph(tag("code", found.place), ": ", "warning: " if kind == "plain" else "", found.message),
            excerpt(found.excerpt, kind=kind, label=f"lines of {found.place}") if found.excerpt else "",
            paragraph(tag("b", found.help)) if found.help else "",
            fold(f"what the compiler adds, {len(notes)}", tag("ul", *notes)) if notes else "",
        ]
    )


def _others(found: tuple[Diagnostic, ...], kind: str) -> Html:
    rest = [item for item in found[1:] if item.severity == kind]
    if not rest:
        return Html()
    likely = ", mostly consequences of the first" if kind == "error" else ""
    title = f"{plural(len(rest), f'more {kind}')}{likely}"
    return fold(title, join(_diagnostic(item) for item in rest[:_MOST_OTHERS]))
