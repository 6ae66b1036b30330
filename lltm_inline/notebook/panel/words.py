"""What the panel says of errors: short in the log, whole behind a fold."""

from __future__ import annotations

from ...errors import LltmInlineError
from ...show import fold, note, page, plain, tag

#: Of a message the log shows the beginning; the card beside it has all.
_MOST_LINES = 4
#: Of a picture, in pixels: below the first its right column is cut.
_NARROWEST, _WIDTH, _WIDEST = 360, 660, 1600


def log_text(text: str) -> str:
    """Cut a message to what fits the log.

    Example:
        >>> log_text("one\\ntwo")
        'one\\ntwo'
    """
    lines = text.strip().split("\n")
    return "\n".join([*lines[:_MOST_LINES], *["..."] * (len(lines) > _MOST_LINES)])


def folded(text: str, what: str) -> str:
    """Show a long text behind a line that opens it: `full log, 38 lines`."""
    count = len(text.strip().split("\n")) if text.strip() else 0
    if not count:
        return ""
    return page(fold(f"{what}, {count} line{'s' * (count != 1)}", plain(text.strip(), label=what)))


def in_html(value: object) -> str:
    """Show a result as a notebook would: by its own HTML, else its text."""
    show = getattr(value, "_repr_html_", None)
    shown = show() if show is not None else None
    return shown if isinstance(shown, str) else str(page(plain(str(value))))


def words_of(error: BaseException) -> str:
    """Return the message of an exception; of one that is none of ours with its type."""
    if isinstance(error, LltmInlineError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}"


def card_of(error: BaseException) -> str:
    """Show an exception: by its own HTML, else its message set apart."""
    if hasattr(error, "_repr_html_"):
        return in_html(error)
    return str(page(note("bad", tag("pre", words_of(error), cls="li-wrap"))))


def width_of(asked: object, before: int) -> int:
    """Return how wide a picture is to be, in pixels: what the browser has room for, within what can be read.

    Example:
        >>> width_of(640, 0), width_of(100, 640), width_of("wide", 0)
        (640, 360, 660)
    """
    if not isinstance(asked, int | float) or asked != asked:
        return before or _WIDTH
    return int(min(max(asked, _NARROWEST), _WIDEST))
