"""What holds of any HTML that the package shows: it is well formed, can be heard as well as seen, and can be read on any ground."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

_VOID = {"br", "hr", "img", "input"}
_PHRASING = {"p", "span", "pre", "code", "b", "summary"}
_BLOCK = {"div", "p", "pre", "table", "ul", "details", "section"}
_VARIABLE = re.compile(r"(--[\w-]+):\s*([^;{}]+)")
_FALLBACK = re.compile(r"var\((--md-[\w-]+),\s*(#\w+)\)")

Rgb = tuple[float, float, float]


class Checker(HTMLParser):
    """Read HTML and collect what is wrong with it.

    Attributes:
        problems: one sentence each.
        text: all that is said, the style sheet left out.
    """

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self._names: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at an element: where it stands, and what it says to who does not see it."""
        names = [name for name, _ in attrs]
        given = dict(attrs)
        if len(set(names)) < len(names):
            self.problems.append(f"<{tag}> has an attribute twice: {names}")
        if any(name.startswith("on") for name in names) or tag in ("script", "iframe", "link"):
            self.problems.append(f"<{tag}> runs or loads something")
        inside = [parent for parent in self._open if parent in _PHRASING]
        if tag in _BLOCK and inside:
            self.problems.append(f"<{tag}> in <{inside[-1]}>")
        self._structure(tag, given)
        if tag == "table" and not any(self._names[-1:]):
            self.problems.append("<table> in nothing that has a name")
        if tag not in _VOID:
            self._open.append(tag)
            self._names.append(given.get("aria-label"))

    def _structure(self, tag: str, given: dict[str, str | None]) -> None:
        if tag == "th" and given.get("scope") not in ("col", "row", "rowgroup"):
            self.problems.append("<th> without scope")
        if tag == "svg" and not (
            given.get("aria-hidden") == "true" or (given.get("role") == "img" and given.get("aria-label"))
        ):
            self.problems.append("<svg> that says nothing")
        if tag == "img" and not given.get("alt"):
            self.problems.append("<img> that says nothing")
        if tag == "summary" and self._open[-1:] != ["details"]:
            self.problems.append("<summary> outside of <details>")
        if given.get("tabindex") == "0" and not (given.get("role") and given.get("aria-label")):
            self.problems.append(f"<{tag}> can be reached by the keyboard and has no name")

    def handle_endtag(self, tag: str) -> None:
        """Close an element; elements close in order."""
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes something else")
        self._names = self._names[:-1]

    def handle_data(self, data: str) -> None:
        """Collect what is said."""
        if self._open[-1:] != ["style"]:
            self.text += data

    def close(self) -> None:
        """Note what was never closed."""
        super().close()
        self.problems += [f"<{tag}> is never closed" for tag in self._open]


def read(html: str) -> Checker:
    """Read HTML, and return what was found."""
    checker = Checker()
    checker.feed(html)
    checker.close()
    return checker


def luminance(colour: Rgb) -> float:
    """Return the relative luminance of WCAG 2, of red, green and blue from 0 to 255."""
    parts = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Rgb, two: Rgb) -> float:
    """Return the contrast of WCAG 2: 4.5 is what text wants."""
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def over(colour: tuple[float, ...], ground: Rgb) -> Rgb:
    """Lay a colour with its alpha on a ground."""
    alpha = colour[3] if len(colour) == 4 else 1.0
    red, green, blue = (c * alpha + g * (1 - alpha) for c, g in zip(colour[:3], ground, strict=True))
    return red, green, blue


def mix(one: tuple[float, ...], share: float, two: tuple[float, ...]) -> tuple[float, ...]:
    """Mix two colours as CSS does `in srgb`: premultiplied by alpha; `share` is of the first."""
    a, b = (colour[3] if len(colour) == 4 else 1.0 for colour in (one, two))
    alpha = a * share + b * (1 - share)
    parts = ((x * a * share + y * b * (1 - share)) / alpha for x, y in zip(one[:3], two[:3], strict=True))
    return (*parts, alpha)


def rgb(text: str) -> tuple[float, ...]:
    """Read a colour of CSS.

    Example:
        >>> rgb("#f00"), rgb("rgba(0,0,0,.5)"), rgb("white")
        ((255.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.5), (255.0, 255.0, 255.0))
    """
    text = {"white": "#fff", "black": "#000", "green": "#008000", "red": "#f00", "blue": "#00f"}.get(text, text)
    if text.startswith("#"):
        digits = text[1:] if len(text) > 4 else "".join(2 * digit for digit in text[1:])
        return tuple(float(int(digits[at : at + 2], 16)) for at in (0, 2, 4))
    return tuple(float(number) for number in re.findall(r"[\d.]+", text))


def themes() -> dict[str, dict[str, str]]:
    """Read the CSS variables of the themes of the installed JupyterLab, each with its value looked up."""
    paths = sorted(Path(sys.prefix, "share/jupyter/lab/themes").rglob("index.css"))
    texts = {path.parent.name: path.read_text(encoding="utf-8") for path in paths}
    # One theme names colours of the material palette that only the others spell out.
    palette = dict(pair for text in texts.values() for pair in _FALLBACK.findall(text))
    return {name: _variables(text, palette) for name, text in texts.items()}


def _variables(text: str, palette: dict[str, str]) -> dict[str, str]:
    found = palette | {name: value.strip() for name, value in _VARIABLE.findall(text)}

    def value_of(name: str) -> str:
        match = re.match(r"var\((--[\w-]+)", found[name])
        return value_of(match[1]) if match and match[1] in found else found[name]

    return {name: value_of(name) for name in found}
