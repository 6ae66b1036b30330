"""How results show themselves in a notebook: strings of HTML, and nothing but strings.

`parts` escapes, and has tables, folds, notes and bars, `style` has the one style sheet, `source` shows texts. What a report,
a crash or a benchmark looks like stands under `views`: these know the results, and no result knows of them.
"""
