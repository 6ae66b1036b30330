"""What was written out, and what to type next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markup import Html, join, tag
from ..parts import fold, note, paragraph, plain

if TYPE_CHECKING:
    from ...export.exported import Exported


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
