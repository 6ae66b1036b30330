"""What the machine can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markup import Html, join, tag
from ..parts import badge, note, table

if TYPE_CHECKING:
    from ...doctor import Diagnosis

_KINDS = {"ok": "good", "missing": "bad"}


def doctor(shown: Diagnosis) -> Html:
    """Show what was found: the sentence, then each finding with the command that mends it."""
    rows: list[list[object]] = []
    for finding in shown.findings:
        cure = [Html("<br>"), tag("code", finding.cure)] if finding.cure else []
        state = badge(finding.state, _KINDS.get(finding.state, "plain"))
        rows.append([finding.what, state, join([finding.detail, *cure])])
    kind = "good" if shown.ok else "bad"
    return join(
        [
            note(kind, tag("b", shown.headline)),
            table(["what", "state", "what was found, and what mends it"], rows, caption="this machine"),
        ]
    )
