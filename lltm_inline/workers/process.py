"""One worker, seen from the caller's process: gets a request, is waited for, held to its limits, interrupted and ended."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..base.processors import bytes_of, seconds_of, threads_of
from ..base.progress import Event, Listener
from ..base.stop import readable
from ..base.trace import WORKER_NOTE, shorten
from .black_box import Evidence, State
from .channel import Reader, send
from .fork_client import ForkClient
from .limits import Limits
from .modules import Stamp, are_unchanged
from .outcome import Died, Ending, Result
from .safe_pickle import unwrap
from .steps import ProcessesLeft
from .worker import Answer

#: How long it is waited for at once.
TICK = 0.05
_GRACE = 0.2
_WHERE_SECONDS, _DRAIN_SECONDS = 0.15, 0.001
_PIPE_BYTES = 1 << 20
#: Of what a kernel prints the beginning and the end are kept, however much lies between.
_HEAD, _TAIL = 32 << 10, 32 << 10


class Forked:
    """A process that a fork server has started, seen from here: its line, what it prints, and its end.

    Attributes:
        pid: its number; link: for requests and answers; output_file: what it prints to, -1 when this is closed.
        box: its black box, or whatever was given in the place of one.
        warm: whether it was forked with all that any check needs.
        printed: what it has printed; speaks: whether it may print more.
    """

    def __init__(self, server: ForkClient, box: Any = None) -> None:
        self.server = server
        self.pid, self.link, self.output_file, self.box, self.warm = server.fork(box)
        self.printed, self.speaks = Output(), True
        os.set_blocking(self.output_file, False)

    def drain(self, most: int) -> None:
        """Take in what was printed; one that prints more than that, without end, would keep us here."""
        with suppress(BlockingIOError):
            while data := os.read(self.output_file, _PIPE_BYTES):
                self.printed.add(data)
                if self.printed.count > most:
                    return
            self.speaks = False  # it has closed what it prints to, which would be readable for ever

    def news(self, seconds: float, *, listening: bool = True) -> set[int]:
        """Wait until it says or prints something, or its server does; return what can be read."""
        files = self.link.fileno() if listening else -1, self.server.fileno(), self.output_file if self.speaks else -1
        return readable(files, seconds)

    def kill(self) -> None:
        """End it with everything that it has started."""
        # One that has ended may have left its number to somebody else.
        if self.output_file >= 0 and self.server.ending_of(self.pid) is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Close all that leads to it."""
        if self.output_file >= 0:
            self.link.close()
            os.close(self.output_file)
            self.output_file = -1
            self.box.close()


class Process(Forked):
    """One worker.

    Attributes:
        served: the kernels that have run in it, and those that run now; earlier: those before.
    """

    def __init__(self, server: ForkClient) -> None:
        super().__init__(server)
        self.served: frozenset[str] = frozenset()
        self.earlier: frozenset[str] = frozenset()
        self._spent = False
        self._modules: Mapping[str, Stamp] = {}
        self._reader = Reader(self.link, trusted=False)

    def run(
        self,
        message: Any,
        tensors: Sequence[Any],
        limits: Limits,
        on_event: Listener,
        who: frozenset[str],
    ) -> Result:
        """Send a request and wait for its answer.

        Raises:
            Died: the worker ended, or passed a limit and was ended.
            KeyboardInterrupt: on Ctrl-C; the worker is gone then.
            BaseException: whatever the request raised.
        """
        self.earlier, self.served = self.served, self.served | who
        watchdog = Watchdog(self, limits)
        try:
            with suppress(ConnectionError):  # it died while idle, or is just dying: the wait finds out how
                send(self.link, message, tensors)
            answer, results = self._wait(watchdog, on_event)
            self._modules = {str(file): stamp for file, stamp in answer.modules.items()}
        except KeyboardInterrupt as interrupt:
            raise self._interrupted(watchdog, on_event) from interrupt
        except BaseException:
            self.kill()
            raise
        if answer.raised is not None:
            if answer.raised.kind is ProcessesLeft:
                died = watchdog.died(Ending("processes", self._count_descendants()))
                self.kill()  # and with it what it has left
                raise died
            if answer.no_memory:
                raise watchdog.died(Ending("memory", limits.memory))
            raise self._as_raised(answer, watchdog)
        return Result(tuple(results) if answer.tensors else answer.value, self.printed.text)

    def _count_descendants(self) -> int:
        import psutil

        try:
            return len(psutil.Process(self.pid).children(recursive=True))
        except psutil.Error:  # it has ended by now
            return 0

    def _as_raised(self, answer: Answer, watchdog: Watchdog) -> BaseException:
        assert answer.raised is not None
        # A fault on a GPU breaks the context for the life of the process.
        self._spent |= "CUDA error" in answer.raised.text
        error = unwrap(answer.raised)
        if isinstance(error, SystemExit):  # of a kernel in Python: it must not end this process
            status = error.args[0] if error.args else 0
            return watchdog.died(Ending("exit", status if isinstance(status, int) else 1))
        if isinstance(error, KeyboardInterrupt):  # nobody has pressed a key here
            error = RuntimeError(f"the kernel raised KeyboardInterrupt {answer.raised.text}".rstrip())
        if answer.context:
            error.add_note(answer.context)
        error.add_note(f"{WORKER_NOTE}{answer.raised.traceback.rstrip()}")
        shorten(error)
        error.output = self.printed.text  # type: ignore[attr-defined]
        return error

    def _wait(self, watchdog: Watchdog, on_event: Listener) -> tuple[Answer, list[Any]]:
        """Wait for the answer; drain what is printed; look at the limits."""
        listening = True
        while True:
            ready = self.news(TICK, listening=listening)
            watchdog.drain()
            if self.link.fileno() in ready:
                listening = self._reader.feed()
            while (message := self._message(watchdog)) is not None:
                answer, tensors = message
                if isinstance(answer, Answer):
                    watchdog.drain()
                    return answer, tensors
                if isinstance(answer, Event) and answer.kind == "warning":
                    text, category = answer.values
                    warnings.warn(text, category, stacklevel=1)
                elif isinstance(answer, Event):
                    on_event(answer)
            ending = self.server.ending_of(self.pid)
            if ending is None and not self.server.alive:
                ending = Ending("signal", signal.SIGKILL)  # the server's end is that of its workers
            if ending is not None:
                if listening and self._feed_rest():
                    continue  # it had answered
                raise watchdog.died(ending)
            watchdog.look()

    def _feed_rest(self) -> bool:
        """Read what a dead worker has sent; True when a message is complete. A process that it left may hold the line."""
        while readable([self.link.fileno()], 0) and self._reader.feed():
            pass
        return self._reader.complete

    def _message(self, watchdog: Watchdog) -> tuple[Any, list[Any]] | None:
        """Return the next message.

        Raises:
            Died: what has arrived is none of ours.
        """
        try:
            return self._reader.message()
        except KeyboardInterrupt:
            raise
        except Exception:  # whatever damaged bytes make of the pickle
            raise watchdog.died(Ending("garbled")) from None

    def _interrupted(self, watchdog: Watchdog, on_event: Listener) -> KeyboardInterrupt:
        """Stop the work: ask first, so that what was measured comes back, and wait no longer than a person would notice."""
        interrupt = KeyboardInterrupt()
        try:
            os.kill(self.pid, signal.SIGINT)
            watchdog.deadline = time.monotonic() + _GRACE
            answer, _ = self._wait(watchdog, on_event)
            if answer.raised is not None and isinstance(error := unwrap(answer.raised), KeyboardInterrupt):
                interrupt = error
        except (Exception, KeyboardInterrupt):
            # It has died, or what it says was cut in two: what counts is that it stops.
            interrupt.add_note("the worker was stopped; the next call finds a new one")
        finally:
            self.kill()
        shorten(interrupt)
        return interrupt

    def close(self) -> None:
        super().close()
        self._reader.close()

    @property
    def usable(self) -> bool:
        """Whether it waits for requests, has been forked with all that it needs, and knows the user's modules as they are."""
        alive = self.output_file >= 0 and self.server.alive and self.server.ending_of(self.pid) is None
        is_new = (self.warm or not self.server.warm) and are_unchanged(self._modules)
        return alive and self.speaks and not self._spent and is_new


class Watchdog:
    """Holds one request to its limits: the time of a step, shared memory, and what is printed. RLIMIT_DATA does the other memory."""

    def __init__(self, process: Process, limits: Limits) -> None:
        self._process, self._limits = process, limits
        #: The end of the whole request.
        self.deadline = float("inf")
        self._begun = time.monotonic()
        self._shared, self._beats = _shared_bytes(process.pid), 0
        self._last = State()
        self.drain()
        process.printed = Output()  # what threads of an earlier kernel have printed since is not this one's

    def drain(self) -> None:
        """Take in what was printed."""
        self._process.drain(self._limits.output)

    def look(self) -> None:
        """Compare with the limits.

        Raises:
            Died: one of them was passed; the worker was ended.
        """
        now = time.monotonic()
        if now > self.deadline:
            raise self._ended(Ending("timeout"))
        if self._process.printed.count > self._limits.output:
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
        evidence, busy = self.where() if where else (None, None)
        state = self._process.box.read()
        self.drain()
        self._process.kill()
        return self._died(ending, state, evidence, busy)

    def where(self) -> tuple[Evidence | None, float | None]:
        """Ask the worker where it is, and for how much of the time it computes.

        What it prints meanwhile is drained: it would wait for that, and for nothing else.
        """
        before, started = _busy_seconds(self._process.pid), time.monotonic()
        try:
            evidence = self._process.box.ask(self._process.pid, _WHERE_SECONDS)
        except ProcessLookupError:
            return None, None
        while (rest := started + _WHERE_SECONDS - time.monotonic()) > 0:
            self.drain()
            time.sleep(min(rest, _DRAIN_SECONDS))
        after, passed = _busy_seconds(self._process.pid), time.monotonic() - started
        return evidence, None if before is None or after is None else (after - before) / passed

    def died(self, ending: Ending) -> Died:
        """Make what is known of a worker that has ended by itself."""
        self.drain()
        box = self._process.box
        return self._died(ending, box.read(), box.evidence(), None)

    def _died(self, ending: Ending, state: State, evidence: Evidence | None, busy: float | None) -> Died:
        return Died(ending, state, evidence, self._process.printed.text, busy=busy, earlier=self._process.earlier)


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


def _shared_bytes(pid: int) -> int:
    """Return the resident memory that RLIMIT_DATA does not count: what is shared with other processes and belongs to no file."""
    return bytes_of(pid, "status", "RssShmem:")


def _busy_seconds(pid: int) -> float | None:
    """Return how long the threads of a process have run, or waited for a processor that others had; None when it has ended."""
    return sum(one.ran + one.waited for one in threads_of(pid).values()) or seconds_of(pid)
