"""The caller's side of the worker: one that is warm for the next request, and a new one when it has died."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..base.processors import bytes_of
from ..base.progress import Listener
from ..compiling.compiler import Build
from ..errors import WorkerError
from ..model.registry import Op
from .channel import dump
from .fork_client import ForkClient
from .limits import Limits
from .outcome import Result
from .process import Process
from .worker import Request, Surroundings


class Worker:
    """The process in which kernels are tried out; it starts by itself when it is first needed.

    Example:
        >>> one = Worker()
        >>> one
        worker: not running
        >>> one.run(abs, -3).value
        3
        >>> one.stop()
    """

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Have none yet; nor has a copy of this process, made by fork, in which the lock may be held by a thread that it has not."""
        self._lock = threading.RLock()
        self._server: ForkClient | None = None
        self._idle: Process | None = None
        self._busy: list[Process] = []

    @property
    def pid(self) -> int | None:
        """The process in which a kernel runs now, or would run next; None while there is none."""
        with self._lock:
            process = self._busy[-1] if self._busy else self._idle
            return process.pid if process is not None else None

    @property
    def memory(self) -> int:
        """Bytes that the worker and the server behind it occupy, pages that they share counted once."""
        with self._lock:
            pids = [process.pid for process in (*self._busy, self._idle) if process is not None]
            if self._server is not None and self._server.alive:
                pids.append(self._server.pid)
        return sum(bytes_of(pid, "smaps_rollup", "Pss:") for pid in pids)

    def warm(self) -> None:
        """Start it in the background; nothing waits."""
        with self._lock:
            if self._server is None or not self._server.alive:
                self.stop()
                self._server = ForkClient()

    def run(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        op: Op | None = None,
        tensors: Sequence[Any] = (),
        limits: Limits | None = None,
        recorder: Build | None = None,
        on_event: Listener = lambda event: None,
        fresh: bool = False,
        who: frozenset[str] = frozenset(),
        **named: Any,
    ) -> Result:
        """Call a function in the worker.

        Args:
            function: of a module that the worker can import.
            arguments, named: of the function.
            op: to be in the worker's registry.
            tensors: further arguments, handed over as shared memory.
            limits: of time, memory and output.
            recorder: the library that records crashes.
            on_event: called with what the function tells on its way.
            fresh: in a process in which nothing else has run.
            who: the kernels that run, so that a crash can be told from one that an earlier kernel has caused.

        Raises:
            Died: the worker ended, or passed a limit and was ended.
            InputError: something cannot be sent.
            WorkerError: the worker cannot be started.
            BaseException: whatever the function raised.
        """
        limits = limits or Limits()
        request = Request(function, arguments, named, limits.memory, recorder)
        message = (Surroundings.here(), dump((op, request), op))
        process = self._take(fresh)
        try:
            return process.run(message, tensors, limits, on_event, who)
        finally:
            self._give_back(process)

    def _take(self, fresh: bool) -> Process:
        with self._lock:
            process, self._idle = self._idle, None
            if process is not None and (not process.usable or (fresh and process.served)):
                process.kill()
                process = None
            if process is None:
                process = self._forked()
            self._busy.append(process)
            return process

    def _forked(self) -> Process:
        """Fork a worker; once more from a new server, should the old one have ended meanwhile."""
        for last in (False, True):
            self.warm()
            assert self._server is not None
            try:
                self._server.wait()
                return Process(self._server)
            except WorkerError:
                self.stop()
                if last:
                    raise
        raise AssertionError

    def _give_back(self, process: Process) -> None:
        with self._lock:
            self._busy.remove(process)
            if process.usable and self._idle is None:
                self._idle = process
            else:
                process.kill()

    def renew(self) -> None:
        """Let the next call have a new process, forked in milliseconds."""
        with self._lock:
            if self._idle is not None:
                self._idle.kill()
                self._idle = None

    def restart(self) -> None:
        """End it, and start another in the background."""
        self.stop()
        self.warm()

    def stop(self) -> None:
        """End it. The next call that needs it starts another."""
        with self._lock:
            self.renew()
            if self._server is not None:
                self._server.stop()
                self._server = None

    def __repr__(self) -> str:
        with self._lock:
            if self._server is None or not self._server.alive:
                return "worker: not running"
            pid = self.pid
            what = "starting" if not self._server.ready else f"process {pid}" if pid is not None else "ready"
            return f"worker: {what}, {self.memory / 2**20:.0f} MiB"


#: The one worker of this process.
worker = Worker()
atexit.register(worker.stop)
