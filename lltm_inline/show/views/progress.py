"""What is being done, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markup import Html
from ..parts import paragraph

if TYPE_CHECKING:
    from ...progress import Status


def status(shown: Status) -> Html:
    """Show the line in grey: it will be gone."""
    return paragraph(shown.text, cls="li-faint")
