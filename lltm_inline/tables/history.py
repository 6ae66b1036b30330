"""What became of each revision of a kernel, and how fast each was at the sizes at which it was timed.

Times are compared only where both revisions were timed against one kernel that was built alike, on one machine, with as many
threads: then what the machine did meanwhile met that kernel as well, and the ratio of the two speed-ups is free of it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..base.above import aligned
from ..base.arguments import plural
from ..model.kernel import Kernel
from ..model.registry import History, State, diff, registry
from .timings import Row, Timings
from .words import comparison, outcome, sentence, spread_text

_STATES = {"built": "compiles", "failed": "does not compile", "right": "right", "wrong": "WRONG", "crashed": "CRASHES",
           "timeout": "TIMES OUT", "shipped": "ships"}  # fmt: skip
#: What is never the best, however fast it is.
_BAD = ("failed", "wrong", "crashed")
#: How many times faster, and the ends of the interval, where there is one.
_Ratio = tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Revision:
    """What became of a revision, in words, and how many lines differ from what it was edited from, if it was."""

    label: str
    parent: str
    changed_lines: int
    state: str
    is_current: bool

    def __str__(self) -> str:
        change = f"{plural(self.changed_lines, 'line')} from {self.parent}" if self.parent else ""
        return f"{'->' if self.is_current else '  '} {self.label:<24} {self.state:<16} {change}".rstrip()


@dataclass(frozen=True)
class Step:
    """How fast a revision was at one size in one direction.

    Attributes:
        row: its times.
        words: how they compare with what it was edited from, or why they cannot be compared.
        is_best: no right revision was measurably faster so far.
    """

    row: Row
    words: str
    is_best: bool = False

    @property
    def cells(self) -> tuple[str, ...]:
        """As a row of a table: revision, time and quartiles, the comparison."""
        time = spread_text(self.row.median, self.row.q1, self.row.q3)
        return self.row.kernel, time, self.words, "best so far" * self.is_best


#: The steps of all revisions, by what was timed under which conditions, and by size and direction: those of one may be compared.
Courses = dict[str, dict[str, tuple[Step, ...]]]


def revisions_of(history: History) -> tuple[Revision, ...]:
    """Say what became of each revision; those that nobody wrote, such as the points of a sweep, are left out."""
    rows = []
    for kernel in filter(registry.is_noted, history):
        parent = registry.parent_of(kernel)
        changed = diff(parent, kernel).lines if parent is not None else 0
        words = _STATES.get(became(kernel).name, "not built")
        is_current = kernel.revision == registry[kernel.name].revision
        rows.append(Revision(kernel.label, parent.label if parent else "", changed, words, is_current))
    return tuple(rows)


def became(kernel: Kernel) -> State:
    """Say what became of a revision, and why; other than the registry, tell apart what ships, and what ran out of time."""
    state = registry.state(kernel.label)
    if state.name == "new" and registry.is_shipped(kernel):
        return State("shipped", state.hint)
    is_late = state.name == "crashed" and "time-out after" in state.hint
    return State("timeout", state.hint) if is_late else state


def courses_of(history: History) -> Courses:
    """Return the times of the revisions, those together that may be compared."""
    rows: dict[Hashable, dict[str, dict[str, Row]]] = {}
    for kernel in filter(registry.is_noted, history):
        for table in registry.timed(kernel.label):
            for row in table.select(kernel=kernel.label).rows:
                where = rows.setdefault((_machine(row), _built(row)), {})
                where.setdefault(table.case(row), {})[kernel.label] = row
    found = {}
    for cases in rows.values():
        every = tuple(row for case in cases.values() for row in case.values())
        subject = f"{every[0].subject}; {Timings(every, every[0].kernel).conditions()}"
        found[subject] = {case: _steps(history, timed) for case, timed in cases.items()}
    return found


def _machine(row: Row) -> Hashable:
    return row.device, row.cpu, row.threads, row.torch, row.dtype


def _case(row: Row) -> Hashable:
    return tuple(row.size.items()), row.direction


def _built(row: Row) -> Hashable:
    """Return compiler and flags, without the flags that are the revision's own: these are part of what was changed."""
    own = registry.revision_of(row.kernel).flags
    return row.compiler, row.flags[: len(row.flags) - len(own)]


def _steps(history: History, rows: dict[str, Row]) -> tuple[Step, ...]:
    best, was_compared, steps = "", False, []
    for kernel in history:
        if (row := rows.get(kernel.label)) is None:
            continue
        parent = registry.parent_of(kernel)
        ratio = _ratio(row, parent.label) if parent else None
        words = f"not timed beside {parent.label}" if parent else ""
        if parent and ratio:
            words = sentence("", parent.label, comparison(*ratio)).strip().removeprefix("is ")
        steps.append(Step(row, words))
        if registry.state(kernel.label).name in _BAD:
            continue
        if not best:
            best = kernel.label
        elif beside := _ratio(row, best):
            was_compared = True
            best = kernel.label if outcome(*beside[1:]) == "faster" else best
    return tuple(replace(step, is_best=was_compared and step.row.kernel == best) for step in steps)


def _ratio(row: Row, other: str) -> _Ratio | None:
    """Say how many times faster a revision is than another, with the interval; None where they were timed against nothing common."""
    mine, theirs = ([*_speedups(label, row)] for label in (row.kernel, other))
    for against, (speedup, low, high) in reversed(mine):
        for same, (base, base_low, base_high) in reversed(theirs):
            if same != against:
                continue
            if not (low and high and base_low and base_high):
                return speedup / base, None, None
            # Errors of two times that were taken apart add up in squares; of two in one benchmark a part is common and goes.
            below = math.hypot(math.log(speedup / low), math.log(base_high / base))
            upper = math.hypot(math.log(high / speedup), math.log(base / base_low))
            return speedup / base, speedup / base * math.exp(-below), speedup / base * math.exp(upper)
    return None


def _speedups(label: str, like: Row) -> Iterator[tuple[Hashable, _Ratio]]:
    """Yield over what a revision was timed, with all that makes it the same, and its speed-up; the latest last."""
    where = _machine(like), _case(like)
    for table in registry.timed(label):
        rows = {row.kernel: row for row in table.rows if (_machine(row), _case(row)) == where}
        if (row := rows.get(label)) and (base := rows.get(table.baseline)):
            same = base.kernel, base.flags, base.compiler, _built(row)
            yield same, (row.speedup, row.speedup_low, row.speedup_high)


def history_text(history: History) -> str:
    """Write a history: what became of each revision, then the times at each size."""
    lines = [f"history of {history[0].name}; -> is the current revision", *map(str, revisions_of(history))]
    for subject, courses in courses_of(history).items():
        rows: list[Sequence[str]] = []
        for case, steps in courses.items():
            rows += [(case,), *((f"  {label}", *rest) for label, *rest in (step.cells for step in steps))]
        lines += ["", f"time per call (quartiles), {subject}", *aligned(rows)]
    return "\n".join(lines)
