"""The caller's side of the fork server: starts it, asks it for workers, and learns from it how they ended."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from ..base.stop import readable
from ..errors import WorkerError
from .black_box import BlackBox
from .forkserver import LOST
from .outcome import Ending
from .worker import directory

_TICK = 0.05
#: How long the fork server may take to import torch, on a laptop that is busy.
_START_SECONDS = 120.0
_FORK_SECONDS = 30.0
_PACKET, _FILE = 1 << 16, struct.Struct("i")
_AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC


def _number_of(file: int) -> int:
    """Return the number of a process that a pidfd shows, as processes are counted here, and close it; -1 of one that has ended."""
    try:
        with open(f"/proc/self/fdinfo/{file}") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))
    finally:
        os.close(file)


class ForkClient:
    """The process that forks workers, seen from here.

    Args:
        module: whose `main` serves there.
        environment: of it; None for that of this process.
        before: words that come before its command: another program, which starts it.
    """

    def __init__(
        self,
        module: str = "lltm_inline.workers.forkserver",
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log: IO[bytes] = os.fdopen(os.memfd_create("lltm_inline fork server", os.MFD_CLOEXEC), "r+b")
        path = [entry for entry in sys.path if isinstance(entry, str)]
        # PYTHONPATH would reach the compilers' Python too; and sys.path may have changed since this process began.
        # Of what torch's import makes hardly anything is garbage, and looking for it takes a quarter of the import.
        code = (
            f"import gc, sys; gc.disable(); sys.path[:] = {path!r}; from {module} import main; main({theirs.fileno()})"
        )
        try:
            environment = os.environ if environment is None else environment
            self._process = subprocess.Popen(
                [*before, sys.executable, "-c", code],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,  # Ctrl-C in a terminal is for us to pass on
                cwd=directory(),
                env={**environment, "OPENBLAS_NUM_THREADS": "1"},  # numpy would start threads when it is imported
            )
        except OSError as error:
            self._link.close()
            raise WorkerError(f"the worker could not be started: {error}") from error
        finally:
            theirs.close()
        self._lock = threading.Lock()
        self._numbers = 0
        #: Its number here, and those of its workers by their numbers there, where these are others.
        self.pid, self._here = self._process.pid, dict[int, int]()
        self._counts_otherwise, self._gone = bool(before), False
        self._forked: dict[int, dict[str, Any]] = {}
        self._endings: dict[int, Ending] = {}
        self.ready = self.warm = False

    @property
    def alive(self) -> bool:
        return self._link.fileno() >= 0 and not self._gone and self._process.poll() is None

    def fileno(self) -> int:
        return self._link.fileno()

    def wait(self) -> None:
        """Wait until it can fork.

        Raises:
            WorkerError: it cannot be started.
        """
        deadline = time.monotonic() + _START_SECONDS
        while not self.ready:
            readable([self.fileno()], _TICK)
            self.poll()
            if not self.ready and (not self.alive or time.monotonic() > deadline):
                said = self._last_words()
                self.stop()
                raise WorkerError(f"the worker could not be started: {said}")

    def _last_words(self) -> str:
        if self._log.closed:
            return "it was stopped"
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "its process ended without a word"

    def poll(self) -> None:
        """Take in what it has to tell."""
        with self._lock:
            while True:
                try:
                    # Python's recv_fds does not pass flags on.
                    data, more, _, _ = self._link.recvmsg(_PACKET, socket.CMSG_LEN(_FILE.size), _AT_ONCE)
                except BlockingIOError:
                    return
                except ConnectionError:
                    data = b""
                if not data:
                    self._gone = True  # what has started it may still have to end
                    return
                self._take_in(json.loads(data), [_number_of(*_FILE.unpack(file)) for _, _, file in more])

    def _take_in(self, message: dict[str, Any], shown: list[int]) -> None:
        self.warm |= "warm" in message and "pid" not in message
        if "ready" in message:
            self.ready, self.pid = True, shown[0] if shown else self._process.pid
        if "forked" in message:
            if self._counts_otherwise:  # its own number would be that of any process here
                self._here[message["pid"]] = message["pid"] = shown[0] if shown else -1
            self._endings.pop(message["pid"], None)  # of an earlier process with that number
            self._forked[message["forked"]] = message
        if "ended" in message:
            ours = message["kind"] == "exit" and message["code"] == LOST
            pid = self._here.pop(message["ended"], message["ended"])
            self._endings[pid] = Ending("garbled") if ours else Ending(message["kind"], message["code"])

    def fork(self, box: Any = None) -> tuple[int, socket.socket, int, Any, bool]:
        """Fork a worker; return what `Forked` has of it.

        Args:
            box: the open file that it gets in the place of a black box; closed where there is no worker.

        Raises:
            WorkerError: the server is gone.
        """
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        reading, writing = os.pipe()
        box = BlackBox.create() if box is None else box
        with self._lock:
            self._numbers += 1
            number = self._numbers
        try:
            packet = json.dumps({"fork": number}).encode()
            socket.send_fds(self._link, [packet], [theirs.fileno(), writing, box.fileno()])
            deadline = time.monotonic() + _FORK_SECONDS
            while number not in self._forked:
                readable([self.fileno()], _TICK)
                self.poll()
                if not self.alive:
                    raise WorkerError(f"the fork server ended: {self._last_words()}")
                if time.monotonic() > deadline:
                    raise WorkerError(f"the fork server has not answered for {_FORK_SECONDS:.0f} s")
            answer = self._forked.pop(number)
            if answer["pid"] <= 0:  # which would be the number of more than one process
                raise WorkerError("the worker ended at once, or its number is not known")
        except BaseException as error:
            mine.close()
            os.close(reading)
            box.close()
            if isinstance(error, OSError):
                raise WorkerError(f"no worker can be forked: {error}") from error
            raise
        finally:
            theirs.close()
            os.close(writing)
        return answer["pid"], mine, reading, box, answer["warm"]

    def ending_of(self, pid: int) -> Ending | None:
        """Return how a worker ended, if it has."""
        self.poll()
        return self._endings.get(pid)

    def stop(self) -> None:
        """End it, and with it all its workers."""
        self._link.close()
        self._log.close()
        for ask, seconds in ((None, 0.2), (self._process.terminate, 2.0), (self._process.kill, None)):
            if ask is not None:  # it is importing something, and does not look at its socket
                ask()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
                return
