"""Wrong LLTM kernels, each with the reason for which a check must reject it.

`PLANTED` lists them by name. A few are edits of the kernels that ship, most of a plain right one that a reader can
follow (`plain.py`, C++; `hand.py`, Python), some are functions of their own.
"""

from tests.planted.kernels import PLANTED, Planted

__all__ = ["PLANTED", "Planted"]
