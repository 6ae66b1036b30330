"""Answers of a sentence with its details behind it: an export, an exercise, what the machine can do, what is being done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..parts import Html, badge, fold, join, note, paragraph, plain, table, tag, with_code

if TYPE_CHECKING:
    from ...base.above import Sheet
    from ...base.progress import Status
    from ...doctor import Diagnosis
    from ...export.exported import Exported
    from ...lesson import Verdict


_KINDS = {"ok": "good", "missing": "bad"}


def exported(shown: Exported) -> Html:
    """Show an export: the sentence, the commands to copy, and the files behind a fold."""
    parts: list[object] = [note("good", tag("b", shown.headline))]
    parts += [note("plain", text) for text in shown.notes]
    if shown.backup is not None:
        parts.append(note("plain", "What was there before is in ", tag("code", shown.backup)))
    for what, command in shown.commands:
        parts += [paragraph(what), plain(command, label=what)]
    parts.append(fold(f"{len(shown.files)} files", plain("\n".join(shown.files), label="files")))
    return join(parts)


def verdict(shown: Verdict) -> Html:
    """Show whether it is solved, the praise or the advice, and behind a fold what that rests on."""
    sign = tag("span", "✓ ", aria_hidden="true") if shown.ok else ""
    head = tag("b", sign, f"Exercise {shown.exercise}: {'solved' if shown.ok else 'not yet'}.")
    kind = "good" if shown.ok else "bad" if shown.evidence else "plain"
    details: object = ""
    if shown.evidence is not None and not shown.ok:  # of a solved exercise nobody needs it
        details = fold("What was found", Html(shown.evidence._repr_html_()))
    return note(kind, head, " ", with_code(shown.text), details)


def diagnosis(shown: Diagnosis) -> Html:
    """Show what was found: the sentence, then each finding with the command that mends it."""
    rows: list[list[object]] = []
    for finding in shown.findings:
        cure = [Html("<br>"), tag("code", finding.cure)] if finding.cure else []
        state = badge(finding.state, _KINDS.get(finding.state, "plain"))
        rows.append([finding.what, state, join([finding.detail, *cure])])
    found = table(["what", "state", "what was found, and what mends it"], rows, caption="this machine")
    return join([note("good" if shown.ok else "bad", tag("b", shown.headline)), found])


def sheet(shown: Sheet) -> Html:
    """Show a sentence and a table."""
    head, rows = shown.sheet()
    return join([paragraph(tag("b", shown.headline)), table(head, rows, caption=shown.headline, hide_caption=True)])


def status(shown: Status) -> Html:
    """Show the line in grey: it will be gone."""
    return paragraph(shown.text, cls="li-faint")
