"""How a kernel took the worker down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markup import Html, join, tag
from ..parts import cross, fold, note, paragraph, plain
from ..source import excerpt

if TYPE_CHECKING:
    from ...run.worker.crash import Crash


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
