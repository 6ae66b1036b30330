"""Timings of a benchmark that still runs: what is told between two rounds to whoever watches.

Watching must not change what is watched. So telling happens between rounds only, at most four times a second; its time does
not count against the budget, and the round after it does not count at all, as telling leaves the processor's caches with other
things in them (`benchmarks/watching.py`). The order of the kernels and the end of the rounds are the same with and without.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.arguments import refusal
from .timings import Row, Timings
from .words import size_text

#: Between two tellings: nobody sees more, and each costs the process that times a fraction of a millisecond.
SECONDS_BETWEEN = 0.25


@dataclass(frozen=True)
class Running:
    """How far the case under way is; a case is one size in one direction.

    Attributes:
        size: numbers by letter.
        direction: `forward`, `backward` or `both`.
        round: rounds that are done.
        rounds: the most there will be: the limit, or what the budget allows for at this pace.
        spent: seconds spent inside of rounds; `budget` is for how many.
        case: which case this is, from 1; `cases` is their number.
    """

    size: Mapping[str, int] = field(hash=False)
    direction: str
    round: int
    rounds: int
    spent: float
    budget: float
    case: int
    cases: int

    @property
    def text(self) -> str:
        """How far it is, in words.

        Example:
            >>> Running({"B": 3}, "both", 31, 400, 0.1, 1.0, 1, 3).text
            'round 31 of at most 400'
        """
        return f"round {self.round} of at most {self.rounds}"

    @property
    def where(self) -> str:
        """The case, `B=16 F=32 S=128, both`."""
        return f"{size_text(self.size)}, {self.direction}"

    @property
    def share(self) -> float:
        """How much of the whole benchmark is done at most, from 0 to 1."""
        own = min(1.0, max(self.round / self.rounds, self.spent / self.budget))
        return (self.case - 1 + own) / self.cases


@dataclass(frozen=True)
class Partial(Timings):
    """Timings of a benchmark under way. Like `Timings`; `verdict` says which case more rounds may change.

    Args:
        rows: of the cases that are done, and of the one under way with the samples that it has until now.
        baseline: label of the kernel against which speed-ups are counted.
        running: how far the case under way is; None when there is none.

    Example:
        >>> what = dict(op="axpy", size={"B": 3}, direction="forward", dtype="float32", device="cpu", calls=100, samples=9)
        >>> slow = Row("axpy/python", **what, median=2e-6, q1=2e-6, q3=2e-6, speedup=1, speedup_low=1, speedup_high=1)
        >>> fast = Row("axpy/cpp", **what, median=2e-6, q1=2e-6, q3=2e-6, speedup=1, speedup_low=0.9, speedup_high=1.1)
        >>> print(Partial((slow, fast), "axpy/python", Running({"B": 3}, "forward", 9, 400, 0.1, 1, 1, 3)).verdict())
        axpy/cpp against axpy/python: no measurable difference (0.90-1.10)
        B=3, forward is under way: what is said of it is not final
    """

    running: Running | None = None

    def under_way(self, row: Row) -> str:
        """How far the case of a row is, if that is the one under way, so that its figures are not final."""
        at = self.running
        return at.text if at is not None and (row.direction, dict(row.size)) == (at.direction, dict(at.size)) else ""

    def verdict(self) -> str:
        """Say in words what is known by now, and of which case more rounds may change it.

        Returns:
            The lines of `Timings.verdict`, without its warning of noise, which a few rounds do not bear out.
        """
        at = self.running
        going_on = [f"{at.where} is under way: what is said of it is not final"] if at is not None else []
        return "\n".join([*self._findings(), *going_on, *self._beside()]) or "nothing was timed yet"


#: Called with the timings so far.
Watch = Callable[[Partial], None]


def watch_of(value: Any) -> Watch | None:
    """Refuse a `watch` that is neither a function nor None; a class is no function.

    Raises:
        InputError: it is another.
    """
    if value is None or (callable(value) and not isinstance(value, type)):
        return value
    raise refusal("watch", value, "a function that is called with the timings so far, or None")


class Pace:
    """Says when it is time to tell: at once, and then so long after the last telling has ended."""

    def __init__(self, seconds: float = SECONDS_BETWEEN) -> None:
        self._seconds = seconds
        self._last = -math.inf

    @property
    def due(self) -> bool:
        """Whether enough time has passed."""
        return time.monotonic() - self._last >= self._seconds

    def told(self) -> None:
        """Note that a telling has ended just now."""
        self._last = time.monotonic()
