"""How work in a worker ends: with a `Result`, or with `Died`."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .black_box import Evidence, Frame, State

#: What a kernel does not cause: the system, a job's limit or a person sends it.
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class Ending:
    """How a worker's work ended.

    Attributes:
        kind: `"signal"` (code: its number), `"exit"` (code: the status), `"stopped"` (code: the signal that somebody sent),
            `"timeout"`, `"memory"`, `"output"` (ended by us at a limit), `"processes"` (code: how many the kernel left),
            `"garbled"` (what it sends makes no sense, or it cannot send any more).
        code: see kind; for a limit the limit itself.
        seconds: the limit of a time-out.
    """

    kind: str
    code: int = 0
    seconds: float = 0.0

    @property
    def from_outside(self) -> bool:
        """Whether a signal has ended it that no kernel causes."""
        return self.kind == "signal" and self.code in FROM_OUTSIDE


class Died(Exception):
    """The worker ended before it could answer.

    Attributes:
        ending: how.
        state: what it was doing.
        evidence: what the recorder saw; None without a recorder, or where there was nothing to see.
        output: what had been printed.
        busy: share of the time in which it computed at the end, or would have; None where that was not measured.
        earlier: the kernels that had run in it before: one of them may have caused it.
        seconds: from the beginning of the step to the end.
    """

    def __init__(
        self,
        ending: Ending,
        state: State,
        evidence: Evidence | None,
        output: str,
        *,
        busy: float | None = None,
        earlier: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(ending)
        self.ending, self.state, self.evidence, self.output = ending, state, evidence, output
        self.busy, self.earlier = busy, earlier
        #: Whether it was ended by somebody else, and not by what it did.
        self.from_outside = ending.from_outside and evidence is None
        self.seconds = max(0.0, time.monotonic() - state.started) if state.started else 0.0

    @property
    def frames(self) -> Sequence[Frame]:
        """The frames that have lines, the innermost first: a jump to itself has none of its own."""
        return self.evidence.frames[self.evidence.still :] if self.evidence else ()


@dataclass(frozen=True)
class Result:
    """What a request gave, and what was printed meanwhile."""

    value: Any
    output: str
