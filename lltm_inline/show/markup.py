"""HTML as a type of its own: plain strings are escaped wherever they meet it, so that no text of a user becomes markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

#: HTML holds no control characters but these two; the others have pictures of their own.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}


class Html(str):
    """A string that is HTML already. Everything in this package returns one, and escapes what is none.

    Example:
        >>> html("a < b"), html(Html("<b>bold</b>"))
        ('a &lt; b', '<b>bold</b>')
    """

    __slots__ = ()


def html(value: object) -> Html:
    """Return HTML as it is, and anything else as escaped text."""
    return value if isinstance(value, Html) else Html(escape(str(value)).translate(_PICTURES))


def join(parts: Iterable[object], separator: object = "") -> Html:
    """Put parts side by side, each escaped unless it is HTML.

    Example:
        >>> join(["1 < 2", tag("b", "so")], ": ")
        '1 &lt; 2: <b>so</b>'
    """
    return Html(html(separator).join(html(part) for part in parts))


def tag(name: str, *children: object, **attributes: object) -> Html:
    """Write an element.

    Args:
        name: of the element.
        children: what stands in it; text is escaped.
        attributes: by name, `cls` for class, `_` for `-`; those that are None, False or empty are left out, True is bare.

    Example:
        >>> tag("th", "a & b", scope="row", cls="x", aria_label='say "b"', hidden=None)
        '<th scope="row" class="x" aria-label="say &quot;b&quot;">a &amp; b</th>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False or value == "":
            continue
        key = "class" if key == "cls" else key.strip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{html(str(value))}"')
    return Html(f"<{' '.join(words)}>{join(children)}</{name}>")


def hidden(text: str) -> Html:
    """Write text for screen readers only: what a sign or a colour says to those who see it."""
    return tag("span", text, cls="li-hidden")


def tick(good: bool, words: str = "") -> Html:
    """Write ✓ or ✗, with words for screen readers.

    Example:
        >>> tick(True)
        '<span aria-hidden="true">✓</span><span class="li-hidden">right</span>'
    """
    sign = tag("span", "✓" if good else "✗", aria_hidden="true")
    return Html(sign + hidden(words or ("right" if good else "wrong")))
