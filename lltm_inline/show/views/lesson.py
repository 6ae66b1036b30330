"""What a lesson says of an exercise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markup import Html, join, tag
from ..parts import fold, note

if TYPE_CHECKING:
    from ...lesson import Verdict


def verdict(shown: Verdict) -> Html:
    """Show whether it is solved, the praise or the advice, and behind a fold what that rests on."""
    sign = tag("span", "✓ ", aria_hidden="true") if shown.ok else ""
    head = tag("b", sign, f"Exercise {shown.exercise}: {'solved' if shown.ok else 'not yet'}.")
    kind = "good" if shown.ok else "bad" if shown.evidence else "plain"
    return note(kind, head, " ", _with_code(shown.text), _details(shown))


def _details(shown: Verdict) -> object:
    """Lay out what the verdict rests on; of a solved exercise nobody needs it."""
    if shown.ok or shown.evidence is None:
        return ""
    return fold("What was found", Html(shown.evidence._repr_html_()))


def _with_code(text: str) -> Html:
    """Write what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one without a partner is no markup
        return join([text])
    return join(tag("code", part) if number % 2 else part for number, part in enumerate(parts))
