"""How results show themselves in a notebook: strings of HTML, and nothing but strings.

`markup` escapes, `style` has the one style sheet, `source` shows texts, `parts` has tables, folds, notes and bars. What a
report, a crash or a benchmark looks like stands under `views`: these know the results, and no result knows of them.
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
