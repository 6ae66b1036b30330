"""What ended the worker, for a person: `explain` makes a `Crash` of everything that was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..base.above import Shown
from ..base.arguments import plural
from ..diagnosis.diagnostics import Diagnostic, excerpt_of
from ..diagnosis.source_text import GENERATED
from ..errors import CrashError, TimeoutError
from .causes import cause_of
from .facts import OUTSIDE, Facts
from .happened import detail_of, what_of
from .lines import in_empty_loop, in_macro
from .symbolize import Place, calls_of

if TYPE_CHECKING:
    from ..tables.timings import Row

#: What is shown of the output, and what is kept of it.
_LAST_LINES, _KEPT_LINES, _LONGEST_LINE = 5, 20, 200
_MOST_CALLERS = 3

_HAPPENED = {
    "garbled": "cut the worker off",
    "signal": "crashed",
    "exit": "ended the process",
    "timeout": "did not come back",
    "memory": "was ended",
    "output": "was ended",
    "stopped": "was stopped",
    "processes": "forked",
}


@dataclass(frozen=True)
class Crash(Shown):
    """How a kernel took the worker down; `print(crash)` reads as plain text, a notebook shows it with the line marked.

    Attributes:
        kernel: label, `axpy/mine@2`.
        step: `load`, `forward`, `backward`, `gradcheck`, `benchmark`, `opcheck`, `trial`; empty between two calls.
        what: `SIGSEGV (segmentation fault)`, `exit(0)`, `time-out after 10 s`, `uncaught std::runtime_error: text`.
        cause: one sentence with the likely cause, and the fix if there is one.
        kind: `signal`, `exit`, `timeout`, `memory`, `output`, `stopped`, `processes`.
        detail: what the kernel was doing: `it reads x[7], 1 element past the end of x (7,) float64`.
        case: size, dtype and layout: `N=7, float64`.
        inputs: its arguments: `x (7,) float64`.
        smallest: the smallest size at which it still crashes.
        place: the line of the user's source, `axpy/mine@2:14`; empty if none is known.
        excerpt: that line and the one before it.
        callers: the places that led there, the nearest first.
        tensor, index: which element was accessed, if it belongs to a tensor; the index may be out of bounds.
        output: what was printed before, its last 20 lines.
        finished: the steps or sections that were done before.
        seconds: from the start of the step to its end.

    Example:
        >>> crash = Crash("op/mine", "forward", "exit(0)", "the text calls exit()", kind="exit", inputs=("x (7,) float64",))
        >>> print(crash)
        kernel 'op/mine' ended the process in forward: exit(0)
          at x (7,) float64
          likely cause: the text calls exit()
        >>> raise crash.error()
        Traceback (most recent call last):
            ...
        lltm_inline.errors.CrashError: kernel 'op/mine' ended the process in forward: exit(0)
          at x (7,) float64
          likely cause: the text calls exit()
    """

    kernel: str
    step: str
    what: str
    cause: str
    kind: str = "signal"
    detail: str = ""
    case: str = ""
    inputs: tuple[str, ...] = ()
    smallest: str = ""
    place: str = ""
    excerpt: str = ""
    callers: tuple[str, ...] = ()
    tensor: str = ""
    index: tuple[int, ...] = ()
    output: str = ""
    finished: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """What happened without the kernel: `crashed in forward: SIGSEGV (segmentation fault)`."""
        outside = self.what.startswith(OUTSIDE)
        verb = "was ended" if outside else _HAPPENED.get(self.kind, "failed")
        where = (
            "while it was loaded" if self.step == "load" else f"in {self.step}" if self.step else "between two calls"
        )
        return f"{verb} {where}: {self.what}"

    @property
    def headline(self) -> str:
        """One line: kernel, what happened, where, and what it did there."""
        seen = ": ".join(part for part in (self.place, self.detail) if part)
        return f"'{self.kernel}' {self.sentence}{f'; {seen}' if seen else ''}"

    def error(self, timings: Sequence[Row] | None = None, report: Any = None) -> CrashError:
        """Make the exception to raise: a `TimeoutError` for a time-out, else a `CrashError`."""
        return (TimeoutError if self.kind == "timeout" else CrashError)(
            str(self), crash=self, timings=timings, report=report
        )

    def __str__(self) -> str:
        lines = [f"kernel {self.kernel!r} {self.sentence}", *self._where(), *self._rest()]
        return "\n".join(line.rstrip() for line in lines)

    def _where(self) -> list[str]:
        seen = ": ".join(part for part in (self.place, self.detail) if part)
        lines = [f"  {seen}"] if seen else []
        lines += self.excerpt.split("\n") if self.excerpt else []
        return [*lines, f"  called from {', '.join(self.callers)}"] if self.callers else lines

    def _rest(self) -> list[str]:
        at = ": ".join(part for part in (self.case, ", ".join(self.inputs)) if part)
        smallest = f"smallest failing size: {self.smallest}" if self.smallest else ""
        lines = [f"  {'at ' * bool(at)}{'; '.join(part for part in (at, smallest) if part)}"] if at or smallest else []
        lines.append(f"  likely cause: {self.cause}")
        if self.finished:
            lines.append(f"  finished before: {', '.join(self.finished)}")
        printed = [line[:_LONGEST_LINE] for line in tail(self.output, _LAST_LINES).split("\n")] if self.output else []
        if len(printed) == 1:
            return [*lines, f"  printed before: {printed[0]}"]
        return [*lines, *(["  printed before:", *(f"    {line}" for line in printed)] if printed else [])]

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; `from_dict` is the way back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Crash:
        """Make a crash of what `to_dict` returned, before or after JSON."""
        # JSON has lists for tuples.
        plain: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        return cls(**plain)


def explain(facts: Facts, *, smallest: str = "", finished: Sequence[str] = ()) -> Crash:
    """Make a `Crash` of everything that is known of a worker's end.

    Args:
        facts: what is known.
        smallest: the smallest size at which it still crashes, from a replay.
        finished: the steps or sections that were done before.

    Returns:
        What happened, where, with which inputs, and the likely cause.
    """
    died, state, kernel = facts.died, facts.died.state, facts.kernel
    if died.evidence and not facts.calls:
        facts = replace(facts, calls=calls_of(died.evidence.frames))
    asserted = facts.assertion
    if asserted and facts.place is None and asserted.file in facts.sources:
        # Without debug information the assertion itself says where it stands.
        facts = replace(facts, places=(Place(asserted.file, asserted.line, ""),))
    facts, hidden = in_macro(in_empty_loop(facts))
    place, touched = facts.place, facts.reach
    return Crash(
        kernel=kernel,
        step=state.step,
        what=what_of(facts),
        cause=cause_of(facts),
        kind=facts.kind,
        detail="; ".join(part for part in (detail_of(facts), hidden) if part),
        case=state.case,
        inputs=tuple(state.inputs),
        smallest=smallest,
        place=_name(kernel, place) if place else "",
        excerpt=excerpt_of(facts.sources.get(place.file, ""), place.line, 0) if place else "",
        callers=_callers(facts),
        tensor=touched.name if touched else "",
        index=touched.index if touched else (),
        output=tail(facts.printed, _KEPT_LINES) if facts.printed.strip() else "",
        finished=tuple(finished),
        seconds=died.seconds,
    )


def tail(output: str, count: int) -> str:
    """Keep the last lines of an output, and say how many were left out.

    Example:
        >>> print(tail("one\\ntwo\\nthree\\n", 2))
        (1 line left out)
        two
        three
    """
    lines = output.rstrip("\n").split("\n")
    left = len(lines) - count
    return "\n".join([f"({plural(left, 'line')} left out)", *lines[-count:]] if left > 0 else lines)


def _name(kernel: str, place: Place) -> str:
    return Diagnostic(kernel, place.file, place.line, 0, "error", "").place


def _callers(facts: Facts) -> tuple[str, ...]:
    """Name the other places on the stack, each once; recursion goes through the same ones again and again."""
    own = [place for place in facts.places if place.line > 0 and not place.file.endswith(GENERATED)]
    names = dict.fromkeys(_name(facts.kernel, place) for place in own)
    return tuple(names)[1 : 1 + _MOST_CALLERS]
