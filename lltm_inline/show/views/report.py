"""A check: the verdict, what is right at which size, and sections that fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markup import Html, join, tag, tick
from ..parts import Cell, badge, fold, note, paragraph, plain, right_or_wrong, table
from .crash import crash

if TYPE_CHECKING:
    from ...run.report import Finding, Report, Section


def report(shown: Report) -> Html:
    """Show a report: verdict, matrix of outputs and gradients by case, then each section; those that found something are open."""
    verdict = badge("right", "good") if shown.ok else badge("crashed" if shown.crash is not None else "wrong", "bad")
    cases = sum(section.cases for section in shown.sections)
    count = f"{cases} case{'s' * (cases != 1)}" if cases else "nothing could be checked"
    head = paragraph(verdict, " ", tag("b", shown.kernel), f" on {shown.device}: {count}, {shown.seconds:.1f} s")
    told: set[str] = set()
    sections = [_section(section, shown, told) for section in shown.sections]
    printed = shown.printed
    return join(
        [
            head,
            crash(shown.crash) if shown.crash is not None else "",
            _matrix(shown),
            *sections,
            fold("what the kernel printed", plain(printed, label="output of the kernel"), True) if printed else "",
        ]
    )


def _matrix(shown: Report) -> Html:
    if not shown.matrix:
        return Html()
    columns = list(next(iter(shown.matrix.values())))
    rows: list[list[object]] = [
        [quantity, *(right_or_wrong(cells.get(column, "")) for column in columns)]
        for quantity, cells in shown.matrix.items()
    ]
    head: list[object] = ["", *(Cell(column, align="mid") for column in columns)]
    caption = "outputs and gradients by size and layout"
    matrix = table(head, rows, caption=caption, hide_caption=shown.ok)
    return matrix if not shown.ok else fold("outputs and gradients by size and layout", matrix, True)


def _section(section: Section, shown: Report, told: set[str]) -> Html:
    """Show a section; what an earlier one has told already is not told again."""
    count = len(section.findings)
    state = f"{count} finding{'s' * (count != 1)} in " if count else "" if section.cases else "nothing was checked in "
    title = join(
        [
            tag("span", tick(section.ok), cls=f"li-is-{'good' if section.ok else 'bad'}"),
            " ",
            tag("b", section.name),
            f": {state}{section.cases} case{'s' * (section.cases != 1)}",
            tag("span", f", {section.seconds:.1f} s", cls="li-faint") if section.seconds >= 0.05 else "",
        ]
    )
    findings = [finding for finding in section.findings if finding in shown.told]
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
    return note(
        "bad",
        paragraph(tag("b", finding.quantity), finding.text[len(finding.quantity) :])
        if finding.text.startswith(finding.quantity)
        else paragraph(finding.text),
        paragraph(f"at {finding.case}{smallest}", cls="li-faint") if finding.case else "",
        *(paragraph(tag("b", "hint: "), hint) for hint in finding.hints),
    )
