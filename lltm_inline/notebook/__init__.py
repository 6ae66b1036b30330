"""Cells, magics, pictures and the panel: thin twins of the public functions, and what shows their results as they come.

magics          `%%kernel`, `%kernel` and `%%load_inline`; cell, inline_cell and verbs do what they say, without IPython
options, completion    what can be written behind them
pipeline        builds, checks and times, for a cell as for a button of the panel
panel           `li.playground`
live            what is drawn anew while it comes in
plot            `li.plot`; access, roofs and figure draw for it
"""
