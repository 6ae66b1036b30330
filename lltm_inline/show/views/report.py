"""What is right and wrong with a kernel: a check's report, a build that failed, a kernel that crashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.arguments import plural
from ..markup import Html, join, tag, tick
from ..parts import Cell, badge, cross, fold, note, paragraph, plain, right_or_wrong, table
from ..source import excerpt

if TYPE_CHECKING:
    from ...autopsy.crash import Crash
    from ...checking.report import Finding, Report, Section
    from ...diagnosis.diagnostics import Diagnostic
    from ...errors import BuildError, CheckError, CrashError

_MOST_OTHERS = 20


def report(shown: Report) -> Html:
    """Show a report: verdict, matrix of outputs and gradients by case, then each section; those that found something are open."""
    if shown.ok or shown.forward_only:
        verdict = badge(shown.verdict, "good" if shown.ok else "plain")
    else:
        verdict = badge("crashed" if shown.crash is not None else "wrong", "bad")
    cases = sum(section.cases for section in shown.sections)
    count = plural(cases, "case") if cases else "nothing could be checked"
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
    """Show a section, without what an earlier one has said already."""
    count = len(section.findings)
    state = f"{plural(count, 'finding')} in " if count else "" if section.cases else "nothing was checked in "
    title = join(
        [
            tag("span", tick(section.ok), cls=f"li-is-{'good' if section.ok else 'bad'}"),
            " ",
            tag("b", section.name),
            f": {state}{plural(section.cases, 'case')}",
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
    printed = shown.output.strip("\n")
    return note(
        "bad",
        paragraph(cross(), tag("b", f"{shown.kernel} {shown.sentence}")),
        paragraph(join(filter(None, seen), ": ")) if any(seen) else "",
        excerpt(shown.excerpt, label=f"the line of {shown.kernel} where it happened") if shown.excerpt else "",
        paragraph(tag("b", "likely cause: "), shown.cause),
        *facts,
        fold("printed before", plain(printed, label="output of the kernel"), len(printed) < 400) if printed else "",
    )


def build_error(error: BuildError) -> Html:
    """Show a failed build as a card: the first error with its lines and its cure, the others and the full log folded."""
    first, *lines = str(error).split("\n")
    found = error.diagnostics
    body: list[object] = [paragraph(cross(), tag("b", first))]
    if found:
        body.append(_diagnostic(found[0]))
        body += [_others(found, kind) for kind in ("error", "warning")]
        body += [
            paragraph(line.strip().partition("  Full log")[0], cls="li-small")
            for line in lines[-1:]
            if " from " in line
        ]
    elif lines:
        body.append(tag("pre", "\n".join(lines), cls="li-wrap"))
    log = error.log.strip()
    if log:
        count = log.count("\n") + 1
        body.append(fold(f"full log, {plural(count, 'line')}", plain(log, label="log of compiler and linker")))
    return note("bad", *body)


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
