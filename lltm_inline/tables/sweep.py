"""What a sweep found: a point for each choice of params, the best of them if one is clearly better, and the way to files."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.above import Shown, aligned
from ..base.arguments import mapping, number, refusal, shown, string
from ..errors import InputError
from .table import JsonFile, require_format, write_csv
from .timings import Row, Timings
from .words import interval_text, sentence, spread_text, three

_FORMAT = "lltm_inline sweep 1"
_WHAT = "a sweep"


@dataclass(frozen=True)
class Point:
    """One choice of params.

    Attributes:
        params: value by name, `{"GRAIN": 2048, "SPLIT": 64}`.
        kernel: label of the revision that has them.
        row: its times; None where it was not timed.
        problem: why it was not: it did not compile, is wrong, or crashed. Empty where it was.
    """

    params: Mapping[str, int | float] = field(hash=False)
    kernel: str
    row: Row | None = None
    problem: str = ""

    def __post_init__(self) -> None:
        for name, value in mapping("params", self.params, "a dict of numbers by name", where="a point").items():
            number(f"params[{name!r}]", value, where="a point")
        string("kernel", self.kernel, where="a point")
        string("problem", self.problem, where="a point")
        if self.row is not None and not isinstance(self.row, Row):
            raise refusal("row", self.row, "a Row of timings, or None", where="a point")
        if (self.row is None) != bool(self.problem):
            raise InputError("a point has either a row of timings or a problem")

    @property
    def text(self) -> str:
        """The params as a reader wants them, `GRAIN=2048 SPLIT=64`."""
        return " ".join(f"{name}={value:.12g}" for name, value in self.params.items())


@dataclass(frozen=True)
class Sweep(JsonFile, Shown):
    """The result of `sweep`. Displays itself as a table; `plot` draws it.

    Attributes:
        kernel: label of the kernel as it stands, against which speed-ups are counted.
        own: its params.
        params: the values that were tried, by name.
        rows: a `Point` for each choice; the last param varies fastest.
        base: the times of the kernel as it stands, in the same rounds.
        confirmed: the fastest point, timed again with the kernel as it stands; None if no point seemed faster.

    Example:
        >>> what = dict(op="axpy", size={"B": 3}, direction="both", dtype="float32", device="cpu", calls=9, samples=50)
        >>> base = Row("axpy/cpp", **what, median=2e-6, q1=2e-6, q3=2e-6, speedup=1, speedup_low=1, speedup_high=1)
        >>> fast = Row("axpy/cpp@1", **what, median=1e-6, q1=1e-6, q3=1e-6, speedup=2, speedup_low=1.9, speedup_high=2.1)
        >>> points = (Point({"UNROLL": 1}, "axpy/cpp", base), Point({"UNROLL": 4}, "axpy/cpp@1", fast))
        >>> swept = Sweep("axpy/cpp", {"UNROLL": 1}, {"UNROLL": (1, 4)}, points, base, fast)
        >>> swept.best.text
        'UNROLL=4'
        >>> print(swept.verdict())
        UNROLL=4 (axpy/cpp@1) is 2.00x faster than axpy/cpp as it stands (1.90-2.10), timed a second time
    """

    kernel: str
    own: Mapping[str, int | float] = field(hash=False)
    params: Mapping[str, tuple[int | float, ...]] = field(hash=False)
    rows: tuple[Point, ...]
    base: Row
    confirmed: Row | None = None

    def __post_init__(self) -> None:
        _validate(self)
        object.__setattr__(self, "params", {name: tuple(values) for name, values in self.params.items()})
        object.__setattr__(self, "rows", tuple(self.rows))

    @property
    def timings(self) -> Timings:
        """The kernel as it stands and every point that was timed, as a benchmark would have them."""
        rows = {row.kernel: row for row in (self.base, *(point.row for point in self.rows)) if row is not None}
        return Timings(tuple(rows.values()), self.kernel)

    @property
    def best(self) -> Point | None:
        """The point that was faster than the kernel as it stands twice: in the sweep and on its own; None if none was.

        The fastest of many points owes some of its lead to chance. So it is timed a second time, and its figure is the
        second one.
        """
        if self.confirmed is None or self.confirmed.outcome != "faster":
            return None
        return next((point for point in self.rows if point.kernel == self.confirmed.kernel), None)

    @property
    def near_best(self) -> tuple[Point, ...]:
        """The points whose interval overlaps that of the best one: this sweep does not tell them apart."""
        best = self.best
        if best is None or best.row is None or not best.row.speedup_low:
            return ()
        others = [(point, point.row) for point in self.rows if point.row is not None and point is not best]
        return tuple(point for point, row in others if (row.speedup_high or 0) >= best.row.speedup_low)

    def verdict(self) -> str:
        """Say in words which params are best, how surely, and what could not be timed."""
        lines = [self._finding()]
        near = ", ".join(point.text for point in self.near_best)
        if near:
            lines.append(f"  this sweep does not tell it apart from {near}")
        timed = [point.row for point in self.rows if point.row is not None and point.kernel != self.kernel]
        found, points = Counter(row.outcome for row in timed), f"of {len(timed)} points"
        if slower := found["slower"]:
            are = "is" if slower == 1 else "are"
            lines.append(f"  {slower} {points} {are} slower than {self.kernel} as it stands")
        if unknown := found["unknown"]:
            how = "had too few rounds or were too noisy to tell: give it more seconds"
            lines.append(f"  {unknown} {points}, marked with ?, {how}")
        lines += (f"  {line}" for line in self.timings._noise())
        lines += [f"  {point.text} was not timed: {point.problem}" for point in self.rows if point.problem]
        return "\n".join(lines)

    def _finding(self) -> str:
        stands = f"{self.kernel} as it stands"
        if self.confirmed is None:
            own = " ".join(f"{name}={self.own[name]:.12g}" for name in self.params)
            return f"no point is measurably faster than {stands} ({own})"
        point = next(point for point in self.rows if point.kernel == self.confirmed.kernel)
        if self.best is None:
            return (
                f"no point is measurably faster than {stands}: {point.text} ({point.kernel}) seemed so, "
                f"and was not when it was timed a second time: {self.confirmed.words}"
            )
        return f"{sentence(f'{point.text} ({point.kernel})', stands, self.confirmed.words)}, timed a second time"

    def __str__(self) -> str:
        title = f"{self.base.subject}, {self.base.size_text}, {self.base.direction}"
        head = f"sweep of {self.kernel}: {title}; it takes {spread_text(self.base.median, self.base.q1, self.base.q3)}"
        table = aligned(self.table(), str.rjust)
        return "\n".join([head, "", *table, "", self.verdict(), self.timings.conditions()])

    __repr__ = __str__

    def table(self) -> list[list[str]]:
        """Lay the speed-ups out: a line for each value of the first param, a column for each of the second."""
        first, *rest = self.params
        cells = {tuple(point.params.values()): self.cell(point) for point in self.rows}
        if not rest:
            found = {point.params[first]: _found(point) for point in self.rows if point.kernel != self.kernel}
            lines = [[f"{one:.12g}", cells[one,] + found.get(one, "")] for one in self.params[first]]
            return [[first, "speed-up"], *lines]
        head = [f"{first} \\ {rest[0]}", *(f"{value:.12g}" for value in self.params[rest[0]])]
        lines = [[f"{one:.12g}", *(cells[one, two] for two in self.params[rest[0]])] for one in self.params[first]]
        return [head, *lines]

    def cell(self, point: Point) -> str:
        """Say how a point compares, in a few letters: `1.12x`, `best 1.12x`, `?` where it cannot be told, or why it is no number."""
        if point.row is None:
            return "not timed"
        if point.kernel == self.kernel:
            return "as it stands"
        text = "?" if point.row.outcome == "unknown" else f"{three(point.row.speedup)}x"
        return "best " * (point is self.best) + text

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, strings and numbers; `from_dict` is the way back."""
        return {
            "format": _FORMAT,
            "kernel": self.kernel,
            "own": dict(self.own),
            "params": {name: list(values) for name, values in self.params.items()},
            "rows": [
                {"params": dict(p.params), "kernel": p.kernel, "row": p.row and p.row.to_dict(), "problem": p.problem}
                for p in self.rows
            ],
            "base": self.base.to_dict(),
            "confirmed": self.confirmed and self.confirmed.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sweep:
        """Rebuild what `to_dict` gave.

        Raises:
            InputError: the data does not come from `to_dict`.
        """
        require_format(data, _FORMAT, _WHAT)
        try:
            points = tuple(Point(**{**point, "row": point["row"] and Row(**point["row"])}) for point in data["rows"])
            rows = (Row(**data["base"]), data["confirmed"] and Row(**data["confirmed"]))
            return cls(data["kernel"], data["own"], data["params"], points, *rows)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{_WHAT}: incomplete or from another version: {error}") from error

    def to_csv(self, path: str | Path) -> Path:
        """Write one line a point: its params, times in seconds, speed-up with its interval, problem; return the path.

        Raises:
            FileError: it cannot be written.
        """
        columns = ("median", "q1", "q3", "samples", "calls", "speedup", "speedup_low", "speedup_high")
        lines: list[list[Any]] = []
        for point in self.rows:
            figures = [getattr(point.row, name, "") for name in columns]
            lines.append([*map(point.params.get, self.params), point.kernel, *figures, point.problem])
        return write_csv(path, [*self.params, "kernel", *columns, "problem"], lines)


def _validate(sweep: Sweep) -> None:
    """Refuse what does not fit together: what shows, judges and draws a sweep need not doubt it any more."""
    string("kernel", sweep.kernel, where=_WHAT)
    tried = mapping("params", sweep.params, "a dict of tuples of numbers by name", where=_WHAT)
    for name, values in tried.items():
        if not isinstance(values, list | tuple) or not values:
            raise refusal(f"params[{name!r}]", values, "a tuple of numbers", where=_WHAT)
    own = mapping("own", sweep.own, "a dict of numbers by name", where=_WHAT)
    for name, value in own.items():
        number(f"own[{name!r}]", value, where=_WHAT)
    if not isinstance(sweep.base, Row) or not isinstance(sweep.confirmed, Row | None):
        raise InputError(f"{_WHAT}: base is a Row of timings, and confirmed another or None")
    if not isinstance(sweep.rows, list | tuple) or not all(isinstance(point, Point) for point in sweep.rows):
        raise refusal("rows", sweep.rows, "a tuple of Point", where=_WHAT)
    chosen = list(itertools.product(*tried.values()))
    if not 1 <= len(sweep.params) <= 2 or [tuple(point.params.values()) for point in sweep.rows] != chosen:
        raise InputError(f"{_WHAT} has one or two params, and a point for each combination of their values, in order")
    if set(tried) - set(own):
        raise InputError(f"{_WHAT} of params that the kernel does not have: {', '.join(sorted(set(tried) - set(own)))}")
    if sweep.confirmed is not None and all(point.kernel != sweep.confirmed.kernel for point in sweep.rows):
        raise InputError(f"{_WHAT}: {shown(sweep.confirmed.kernel)} was timed a second time and is none of its points")


def _found(point: Point) -> str:
    """Write a point's interval and what it says, for behind its speed-up."""
    row = point.row
    if row is None or row.speedup_low is None or row.speedup_high is None:
        return ""
    return f" ({interval_text(row.speedup_low, row.speedup_high)}) {row.finding}"
