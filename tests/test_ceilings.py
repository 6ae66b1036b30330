"""The package does not grow unseen: a change that adds says what for, and one that takes away lowers these numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "lltm_inline"
#: What was asked for besides takes, by the number of its issue: of 38 so many lines more in `compiling` and `source` than when it was
#: asked for. Granted are 300, 700, 900 and 400: what is above that is to go.
TAKEN = {38: 290, 39: 3_092, 40: 1_989, 41: 400}
#: The most that there may be. Lower a number to what is counted wherever that is less; raise one by an allowance alone
#: (38 has a module and its calls of re, 39 six modules and four calls; 40, where files of others are judged, eleven and seven).
CEILINGS = {"lines": 56_829 + sum(TAKEN.values()), "modules": 310, "calls of re": 767}
_CALL = re.compile(r"\bre\.[a-z]*\(")


def texts() -> Iterator[str]:
    """Read the modules of the package."""
    for path in PACKAGE.rglob("*.py"):
        if "node_modules" not in path.parts:
            yield path.read_text(encoding="utf-8")


COUNTS = {
    "lines": lambda text: len(text.splitlines()),
    "modules": lambda text: 1,
    "calls of re": lambda text: len(_CALL.findall(text)),
}


@pytest.mark.parametrize("what", CEILINGS)
def test_a_ceiling_holds(what: str) -> None:
    """By taking away, or by an allowance; longer lines, fewer comments and no docstrings are no way."""
    counted = sum(map(COUNTS[what], texts()))
    assert counted <= CEILINGS[what], f"{counted:,} {what} in lltm_inline, and {CEILINGS[what]:,} are the most"
    assert counted > CEILINGS[what] / 2, "nothing is counted"
