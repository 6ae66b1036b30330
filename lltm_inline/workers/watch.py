"""Holds a worker to its limits: the time of a step, shared memory, and what is printed. (RLIMIT_DATA does the other memory.)"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from .black_box import BlackBox, Evidence, State
from .limits import Limits
from .outcome import Died, Ending

_PIPE_BYTES = 1 << 20
#: Of what a kernel prints the beginning and the end are kept, however much lies between.
_HEAD, _TAIL = 32 << 10, 32 << 10


class Output:
    """Keeps the first and the last of what is added, and counts all of it.

    Example:
        >>> output = Output(head=3, tail=4)
        >>> output.add(b"abcdefghij")
        >>> output.text
        'abc\\n... 3 bytes left out ...\\nghij'
    """

    def __init__(self, head: int = _HEAD, tail: int = _TAIL) -> None:
        self._most_head, self._most_tail = head, tail
        self._head, self._tail = bytearray(), bytearray()
        self.count = 0

    def add(self, data: bytes) -> None:
        """Add what was printed."""
        self.count += len(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[: -self._most_tail]

    @property
    def text(self) -> str:
        """What was printed, with a note where something was left out."""
        left_out = self.count - len(self._head) - len(self._tail)
        between = f"\n... {left_out} bytes left out ...\n".encode() if left_out else b""
        return (bytes(self._head) + between + bytes(self._tail)).decode(errors="replace")


class Watched(Protocol):
    """What is watched: a worker."""

    pid: int
    box: BlackBox

    @property
    def output_file(self) -> int:
        """File descriptor of what it prints."""

    @property
    def earlier(self) -> frozenset[str]:
        """What has run in it before."""

    @property
    def strangers(self) -> frozenset[str]:
        """What else has run in it."""

    def where(self, drain: Callable[[], None]) -> tuple[Evidence | None, float | None]:
        """Ask where it is, and drain what it prints meanwhile."""

    def kill(self) -> None:
        """End it."""


class Watch:
    """Holds one request to its limits."""

    def __init__(self, process: Watched, limits: Limits) -> None:
        self._process, self._limits = process, limits
        self._deadline = float("inf")
        self._begun = time.monotonic()
        self._shared, self._beats = _shared_bytes(process.pid), 0
        self._last = State()
        self.output, self.output_ended = Output(), False
        self.drain()
        self.output = Output()  # what threads of an earlier kernel have printed since is not this one's

    def only_until(self, deadline: float) -> None:
        self._deadline = deadline

    def drain(self) -> None:
        """Take in what was printed."""
        while True:
            try:
                data = os.read(self._process.output_file, _PIPE_BYTES)
            except BlockingIOError:
                return
            if not data:  # it has closed what it prints to
                self.output_ended = True
                return
            self.output.add(data)
            if self.output.count > self._limits.output:
                return  # a kernel that prints without end would keep us here

    def look(self) -> None:
        """Compare with the limits.

        Raises:
            Died: one of them was passed; the worker was ended.
        """
        now = time.monotonic()
        if now > self._deadline:
            raise self._ended(Ending("timeout"))
        if self.output.count > self._limits.output:
            raise self._ended(Ending("output", self._limits.output), where=True)
        state = self._state()
        shared = _shared_bytes(self._process.pid)
        if state.beats != self._beats:
            self._shared, self._beats = shared, state.beats  # what was there before a step is not the step's
        if state.step and shared - self._shared > self._limits.memory:
            raise self._ended(Ending("memory", self._limits.memory))  # at once: it may be taking more and more
        limit = self._limits.seconds_of(state.step)
        since = max(state.started, self._begun)
        if now - since > limit and self._state().beats == state.beats:
            raise self._ended(Ending("timeout", seconds=limit), where=True)

    def _state(self) -> State:
        """Read what it is doing; a kernel that has written zeros over the black box does not stop the clock by that."""
        state = self._process.box.read()
        if state.beats >= self._last.beats:
            self._last = state
        return self._last

    def _ended(self, ending: Ending, *, where: bool = False) -> Died:
        evidence, busy = self._process.where(self.drain) if where else (None, None)
        state = self._process.box.read()
        self.drain()
        self._process.kill()
        return self._outcome(ending, state, evidence, busy)

    def died(self, ending: Ending) -> Died:
        """Make what is known of a worker that has ended by itself."""
        self.drain()
        box = self._process.box
        return self._outcome(ending, box.read(), box.evidence(), None)

    def _outcome(self, ending: Ending, state: State, evidence: Evidence | None, busy: float | None) -> Died:
        process = self._process
        ran = {"earlier": process.earlier, "strangers": process.strangers}
        return Died(ending, state, evidence, self.output.text, busy=busy, **ran)


def _shared_bytes(pid: int) -> int:
    """Return the resident memory that RLIMIT_DATA does not count: what is shared with other processes and belongs to no file."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(b"RssShmem:")), 0)
    except (OSError, ValueError, IndexError):  # it has ended
        return 0


def busy_seconds(pid: int) -> float | None:
    """Return how long the threads of a process have run, or waited for a processor that others had; None when it has ended."""
    with suppress(OSError, ValueError):  # a kernel without these numbers, or it has just ended
        threads = [Path(entry, "schedstat").read_text().split() for entry in os.scandir(f"/proc/{pid}/task")]
        return sum(int(ran) + int(waited) for ran, waited, _ in threads) / 1e9
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return None
