"""How results show themselves in a notebook: strings of HTML, and nothing but strings.

This is the lowest room of the package: `markup` escapes, `style` has the one style sheet, `source` shows texts, `parts` has
tables, folds, notes and bars. What a report, a crash or a benchmark is made of stands in a module each, under `views`.
"""

from __future__ import annotations

from .markup import Html, hidden, html, join, tag, tick
from .parts import Cell, badge, bar, fold, image, note, page, paragraph, plain, right_or_wrong, table
from .source import Mark, diff_source, excerpt, source
from .style import style

__all__ = [
    "Cell",
    "Html",
    "Mark",
    "badge",
    "bar",
    "diff_source",
    "excerpt",
    "fold",
    "hidden",
    "html",
    "image",
    "join",
    "note",
    "page",
    "paragraph",
    "plain",
    "right_or_wrong",
    "source",
    "style",
    "table",
    "tag",
    "tick",
]
