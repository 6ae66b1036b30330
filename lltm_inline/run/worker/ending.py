"""How a worker's work ended before it could answer."""

from __future__ import annotations

from dataclasses import dataclass


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
