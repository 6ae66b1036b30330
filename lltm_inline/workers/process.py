"""One worker, seen from the caller's process: gets a request, is waited for, interrupted and ended."""

from __future__ import annotations

import os
import signal
import socket
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from ..base.stop import raise_if_stopped
from ..base.trace import WORKER_NOTE, shorten
from .black_box import BlackBox, Evidence
from .channel import Reader, send, unwrap
from .limits import Limits
from .outcome import Ending, Result
from .polling import readable
from .server import Answer
from .steps import Event, ProcessesLeft
from .watch import Watch, busy_seconds

_TICK = 0.05
_GRACE = 0.2
_WHERE_SECONDS, _DRAIN_SECONDS = 0.15, 0.001

OnEvent = Callable[[Event], None]


class Server(Protocol):
    """What a worker needs of the fork server."""

    warm: bool

    @property
    def alive(self) -> bool:
        """Whether it runs."""

    def fileno(self) -> int:
        """Return what becomes readable when it has something to tell."""

    def ending_of(self, pid: int) -> Ending | None:
        """Return how a worker ended, if it has."""


class Process:
    """One worker, seen from here."""

    def __init__(
        self, server: Server, pid: int, link: socket.socket, output: int, box: BlackBox, *, warm: bool
    ) -> None:
        self.server, self.pid, self.box, self.warm = server, pid, box, warm
        self.served: frozenset[str] = frozenset()
        self.earlier: frozenset[str] = frozenset()
        self._who: frozenset[str] = frozenset()
        self._link = link
        self._output_file = output
        self._spent = False
        self._reader = Reader(link, trusted=False)
        os.set_blocking(output, False)

    @property
    def strangers(self) -> frozenset[str]:
        """What else has run in it than what is running now."""
        return self.earlier - self._who

    def run(
        self,
        message: Any,
        tensors: Sequence[Any],
        limits: Limits,
        on_event: OnEvent,
        who: frozenset[str],
    ) -> Result:
        """Send a request and wait for its answer.

        Raises:
            Died: the worker ended, or passed a limit and was ended.
            KeyboardInterrupt: on Ctrl-C; the worker is gone then.
            BaseException: whatever the request raised.
        """
        self._who, self.earlier, self.served = who, self.served, self.served | who
        watch = Watch(self, limits)
        try:
            with suppress(ConnectionError):  # it died while idle, or is just dying: the wait finds out how
                send(self._link, message, tensors)
            answer, results = self._wait(watch, on_event)
        except KeyboardInterrupt as interrupt:
            raise self._interrupted(watch, on_event) from interrupt
        except BaseException:
            self.kill()
            raise
        if answer.raised is not None:
            if answer.raised.kind is ProcessesLeft:
                died = watch.died(Ending("processes", self._count_descendants()))
                self.kill()  # and with it what it has left
                raise died
            if answer.no_memory:
                raise watch.died(Ending("memory", limits.memory))
            raise self._as_raised(answer, watch)
        self._spent |= watch.output_ended
        return Result(tuple(results) if answer.tensors else answer.value, watch.output.text)

    def _count_descendants(self) -> int:
        import psutil

        try:
            return len(psutil.Process(self.pid).children(recursive=True))
        except psutil.Error:  # it has ended by now
            return 0

    def _as_raised(self, answer: Answer, watch: Watch) -> BaseException:
        assert answer.raised is not None
        # A fault on a GPU breaks the context for the life of the process.
        self._spent |= watch.output_ended or "CUDA error" in answer.raised.text
        error = unwrap(answer.raised)
        if isinstance(error, SystemExit):  # of a kernel in Python: it must not end this process
            status = error.args[0] if error.args else 0
            return watch.died(Ending("exit", status if isinstance(status, int) else 1))
        if isinstance(error, KeyboardInterrupt):  # nobody has pressed a key here
            error = RuntimeError(f"the kernel raised KeyboardInterrupt {answer.raised.text}".rstrip())
        if answer.context:
            error.add_note(answer.context)
        error.add_note(f"{WORKER_NOTE}{answer.raised.traceback.rstrip()}")
        shorten(error)
        error.output = watch.output.text  # type: ignore[attr-defined]
        return error

    def _wait(self, watch: Watch, on_event: OnEvent) -> tuple[Answer, list[Any]]:
        """Wait for the answer; drain what is printed; look at the limits."""
        listening = True
        while True:
            raise_if_stopped()
            speaking = -1 if watch.output_ended else self._output_file
            ready = readable([speaking, self.server.fileno(), self._link.fileno() if listening else -1], _TICK)
            watch.drain()
            if self._link.fileno() in ready:
                listening = self._feed()
            while (message := self._message(watch)) is not None:
                answer, tensors = message
                if isinstance(answer, Answer):
                    watch.drain()
                    return answer, tensors
                if isinstance(answer, Event):
                    _pass_on(answer, on_event)
            ending = self.server.ending_of(self.pid)
            if ending is None and not self.server.alive:
                ending = Ending("signal", signal.SIGKILL)  # the server's end is that of its workers
            if ending is not None:
                if listening and self._feed_rest():
                    continue  # it had answered
                raise watch.died(ending)
            watch.look()

    def _feed(self) -> bool:
        try:
            return self._reader.feed()
        except ConnectionError:
            return False

    def _feed_rest(self) -> bool:
        """Read what a dead worker has sent; True when a message is complete. A process that it left may hold the line."""
        while readable([self._link.fileno()], 0) and self._feed():
            pass
        return self._reader.complete

    def _message(self, watch: Watch) -> tuple[Any, list[Any]] | None:
        """Return the next message.

        Raises:
            Died: what has arrived is none of ours.
        """
        try:
            return self._reader.message()
        except KeyboardInterrupt:
            raise
        except Exception:  # whatever damaged bytes make of the pickle
            raise watch.died(Ending("garbled")) from None

    def _interrupted(self, watch: Watch, on_event: OnEvent) -> KeyboardInterrupt:
        """Stop the work: ask first, so that what was measured comes back, and wait no longer than a person would notice."""
        interrupt = KeyboardInterrupt()
        try:
            os.kill(self.pid, signal.SIGINT)
            watch.only_until(time.monotonic() + _GRACE)
            answer, _ = self._wait(watch, on_event)
            if answer.raised is not None and isinstance(error := unwrap(answer.raised), KeyboardInterrupt):
                interrupt = error
        except (Exception, KeyboardInterrupt):
            # It has died, or what it says was cut in two: what counts is that it stops.
            interrupt.add_note("the worker was stopped; the next call finds a new one")
        finally:
            self.kill()
        shorten(interrupt)
        return interrupt

    def where(self, drain: Callable[[], None]) -> tuple[Evidence | None, float | None]:
        """Ask the worker where it is, and for how much of the time it computes.

        What it prints meanwhile is drained: it would wait for that, and for nothing else.
        """
        before, started = busy_seconds(self.pid), time.monotonic()
        try:
            evidence = self.box.ask(self.pid, _WHERE_SECONDS)
        except ProcessLookupError:
            return None, None
        while (rest := started + _WHERE_SECONDS - time.monotonic()) > 0:
            drain()
            time.sleep(min(rest, _DRAIN_SECONDS))
        after, passed = busy_seconds(self.pid), time.monotonic() - started
        return evidence, None if before is None or after is None else (after - before) / passed

    def kill(self) -> None:
        """End it with everything that it has started."""
        if self.server.ending_of(self.pid) is None:  # else its number may be somebody else's by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        if self._output_file >= 0:
            self._link.close()
            os.close(self._output_file)
            self._output_file = -1
            self._reader.close()
            self.box.close()

    @property
    def usable(self) -> bool:
        """Whether it waits for requests, and has been forked with all that it needs."""
        alive = self._output_file >= 0 and self.server.alive and self.server.ending_of(self.pid) is None
        return alive and not self._spent and (self.warm or not self.server.warm)

    @property
    def output_file(self) -> int:
        return self._output_file


def _pass_on(event: Event, on_event: OnEvent) -> None:
    if event.kind == "warning":
        text, category = event.values
        warnings.warn(text, category, stacklevel=2)
    else:
        on_event(event)
