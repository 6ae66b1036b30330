"""A right and plain LLTM kernel: loops over raw pointers that a reader can follow, for the planted errors to be put into."""

from pathlib import Path

PLAIN = Path(__file__).with_name("plain.cpp").read_text()

SAVES = ("weights", "new_cell")
