"""The judge's side of a builder or a runner: forks it, asks it, holds it to its limits, and believes nothing of it."""

from __future__ import annotations

import ctypes
import fcntl
import itertools
import math
import mmap
import os
import signal
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor

from ..autopsy.facts import signal_name
from ..base.processors import Thread, bytes_of, processors, seconds_of, threads_of
from ..base.stop import readable
from ..compiling import cache
from ..errors import InfraError, WorkerError
from ..run import function
from ..workers.channel import send
from ..workers.fork_client import ForkClient
from ..workers.process import TICK, Forked
from . import enclosure, inside, sandbox
from .inside import ARENA, BOOK, DTYPES, HEADER, MAGIC, MISSING, NUMBER, RECORD, TENSOR, Laid

_PACKET = 1 << 16
#: How many times its own limit a process may wait for a core beside it.
_MOST_WAITED = 5
#: More than the largest answer.
_MOST_BYTES = 1 << 18
#: How long a process that is to stand still may take on a machine that is busy, and one that ends.
_STOP_SECONDS, _LAST_SECONDS = 10.0, 1.0
#: All that a server has of this process's environment.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "CCACHE_DISABLE", "PYTHONDONTWRITEBYTECODE", "OMP_WAIT_POLICY", "SYSTEMROOT")


#: For each tensor of a call, where its storage lies, and the judge's own.
Kept = Sequence[tuple[Laid, Tensor]]
_ALIGNMENT = 64


class Gone(BaseException):
    """What runs behind the locks has ended, or was ended. Not an Exception: no code for wrong kernels may swallow it.

    Attributes:
        reason: `crashes (SIGSEGV)`, `does not come back within 10 s`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Broken(BaseException):
    """The judge's own side has failed. Not an Exception either: the check would take it for what a kernel raises.

    Attributes:
        error: how.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Answer(NamedTuple):
    """What came back: whether the call raised, its text, and records of where its results lie.

    Once they were read: the results themselves, and whether each has a gradient.
    """

    raised: bool
    text: str
    records: tuple[tuple[int, ...], ...] = ()
    values: tuple[Any, ...] = ()
    attached: tuple[bool, ...] = ()


def same(one: Any, other: Any) -> bool:
    """Tell whether two results are the same, tensors bit for bit."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return function.same(one, other)
    return type(one) is type(other) and (one == other or one != one)


def _plain(tensor: Tensor) -> Tensor:
    """Return a tensor of plain memory."""
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        raise RuntimeError(f"a tensor of layout {tensor.layout} on {tensor.device} is no input")
    return tensor.detach().resolve_conj().resolve_neg()


_servers: dict[tuple[tuple[str, str], ...], ForkClient] = {}
_starting = threading.Lock()


def server() -> ForkClient:
    """Return the process that forks, started if need be; it knows of this environment what compiling takes.

    Raises:
        InfraError: it cannot be started.
    """
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment["LLTM_INLINE_CACHE"] = str(cache.cache_dir())
    key = tuple(sorted(environment.items()))
    with _starting:
        found = _servers.get(key)
        if found is None or not found.alive:
            try:
                before = enclosure.bubblewrap(cache.cache_dir())
                found = _servers[key] = ForkClient(inside.__name__, environment, before)
                found.wait()
            except WorkerError as error:
                _servers.pop(key, None)
                raise InfraError(f"the process that runs submissions cannot be started: {error}") from error
        return found


class _Clock:
    """The seconds that a process may take: those in which it would run and other processes have the cores are not its own.

    Its threads wait for each other, too: so together they may take as many seconds of the processors as these can give.

    Args:
        pid: of the process.
        seconds: that it may take; of a machine that is busy for longer than some times as much no more is made up for.
    """

    def __init__(self, pid: int, seconds: float) -> None:
        self._pid, self.seconds, self._started = pid, seconds, time.monotonic()
        #: Its threads when it was not back at once.
        self.before: dict[str, Thread] | None = None
        self._used = seconds_of(pid) or 0.0

    def left(self) -> float:
        """Return the seconds that are left; of a call that is back at once nobody asks how long it has waited."""
        passed = time.monotonic() - self._started
        if self.before is None and passed > TICK:
            self.before = threads_of(self._pid)
        if passed < self.seconds:
            return self.seconds - passed
        if (seconds_of(self._pid) or 0.0) - self._used > self.seconds * processors():
            return 0.0
        before, now = self.before or {}, threads_of(self._pid)
        waited = (one.waited - before.get(thread, Thread()).waited for thread, one in now.items())
        return self.seconds - passed + min(max(waited, default=0.0), _MOST_WAITED * self.seconds)


class Locked(Forked, AbstractContextManager["Locked"]):
    """One builder or runner.

    Args:
        task: what it is for; gets a `memory` to share.
        output: bytes that it may print.
    """

    def __init__(self, task: Any, output: int) -> None:
        self._most = output
        memory = os.memfd_create("lltm_inline lab", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, ARENA + BOOK)
        # Nobody can make it shorter: what the judge reads is there.
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self.memory = mmap.mmap(memory, ARENA + BOOK)
        try:
            super().__init__(server(), os.fdopen(memory, "rb", 0))
        except WorkerError as error:
            raise InfraError(f"no process can be forked for a submission: {error}") from error
        self._group = enclosure.Group(self.pid, task.memory, sandbox.THREADS)
        self._data, self._sight = bytearray(), -1
        self._memory: int = task.memory
        self._held: int | None = None
        self._cursor, self._rooms = 0, dict[int, tuple[int, int]]()
        self.ask(task)

    def receive(self, number: int, seconds: float) -> Answer:
        """Wait for the one answer to a request.

        Raises:
            Gone: it ended, or passed a limit and was ended, or sends what is no answer.
            InfraError: somebody else ended it.
        """
        clock = _Clock(self.pid, seconds)
        while (found := self._parsed(number)) is None:
            self._wait(clock)
            self._drain()
            self._feed()
        if self._sight >= 0 and self._held is None:  # nothing of a student's is in it yet
            self._held = self.held()
        return found

    def wait(self, seconds: float) -> None:
        """Wait until an answer begins to come, and do not look at it.

        Raises:
            Gone: it ended, or passed a limit and was ended.
        """
        self._wait(_Clock(self.pid, seconds))

    def _wait(self, clock: _Clock) -> None:
        link = self.link.fileno()
        while link not in self.news(min(self._hold_to(clock), TICK)):
            self._drain()
            # What it has sent before is read.
            if self.server.ending_of(self.pid) is not None and not readable([link], 0):
                self._fail()

    def _hold_to(self, clock: _Clock) -> float:
        """End it where it has passed a limit; return the seconds that are left."""
        left = clock.left()
        if left <= 0:
            self._end(f"does not come back within {clock.seconds:g} s")
        if clock.before is not None and self._sight >= 0:  # a runner, and not back at once
            count = 0
            with suppress(OSError):
                count = len(os.listdir(f"/proc/{self.pid}/task"))
            if count > sandbox.THREADS:
                self._end(f"runs {count} threads at once, more than {sandbox.THREADS}")
            # The limits of the process itself come first: this is for what they do not count.
            if self._held is not None and self.held() - self._held > 1.25 * self._memory:
                self._end(self._too_much())
        return left

    def require_silence(self) -> None:
        """See that nothing has come that nobody asked for.

        Raises:
            Gone: something has.
        """
        if readable([self.link.fileno()], 0):
            self._feed()
            self._end("answers twice, or without being asked")

    def _feed(self) -> None:
        """Take in what has come; where nothing will come any more, it has ended."""
        data, files = b"", list[int]()
        with suppress(ConnectionError):
            data, files, _, _ = socket.recv_fds(self.link, _PACKET, 1, socket.MSG_CMSG_CLOEXEC)
        for file in files:  # a runner sends one, with its first word
            if self._sight < 0:
                self._sight = file
            else:
                os.close(file)
        self._data += data
        if not data:
            self._fail()
        if len(self._data) > _MOST_BYTES:
            self._end("sends what is no answer")

    def _drain(self) -> None:
        self.drain(self._most)
        if self.printed.count > self._most:
            self._end(f"prints more than {self._most / 2**20:.3g} MiB")

    def _parsed(self, number: int) -> Answer | None:
        """Take one whole answer out of what has come; None while it is not there. Every byte may be a lie."""
        if len(self._data) < HEADER.size:
            return None
        magic, which, status, count, _, length = HEADER.unpack_from(self._data)
        size = HEADER.size + count * RECORD.size + length
        sane = magic == MAGIC and which == number and status in (inside.DONE, inside.RAISED)
        if not sane or count > inside.MOST_RECORDS or length > inside.LONGEST_TEXT or len(self._data) > size:
            self._end("sends what is no answer")
        if len(self._data) < size:
            return None
        records = tuple(RECORD.unpack_from(self._data, HEADER.size + i * RECORD.size) for i in range(count))
        text = bytes(self._data[size - length :]).decode(errors="replace")
        self._data.clear()
        text = "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
        return Answer(status == inside.RAISED, text, records)

    def read(self, answer: Answer) -> Answer:
        """Copy the results of an answer out of the process.

        Raises:
            Gone: there are none where it says that they are.
        """
        values = tuple(map(self._value, answer.records))
        return answer._replace(values=values, attached=tuple(bool(record[3]) for record in answer.records))

    def _value(self, record: Sequence[int]) -> Any:
        (kind, dtype, axes), most = record[:3], inside.MOST_AXES
        if kind == MISSING:
            return None
        if kind not in (TENSOR, NUMBER) or dtype >= len(DTYPES) or axes > most:
            self._end("sends what is no answer")
        size, stride, of = record[5 : 5 + axes], record[5 + most : 5 + most + axes], DTYPES[dtype]
        # Of a tensor without elements, too: to torch, extents have a largest product.
        if min((*size, *stride), default=0) < 0 or math.prod(extent or 1 for extent in size) > ARENA:
            self._end("sends what is no answer")
        if 0 in size:
            return torch.empty(size, dtype=of)
        reach = 1 + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
        if reach * of.itemsize > ARENA:
            self._end("sends what is no answer")
        flat = torch.empty(reach * of.itemsize, dtype=torch.uint8)
        read = 0
        with suppress(OSError, OverflowError):
            read = os.preadv(self._sight, [(ctypes.c_char * flat.numel()).from_address(flat.data_ptr())], record[-1])
        if read != flat.numel():
            self._end("sends what is no answer")
        # As bytes first: of a bool any byte may come.
        flat = flat != 0 if of == torch.bool else flat.view(of)
        tensor = flat.as_strided(size, stride).clone(memory_format=torch.contiguous_format)
        return tensor if kind == TENSOR else tensor.flatten()[0].item()

    def lay(self, number: int, values: Sequence[Any], wanted: Sequence[bool] = ()) -> tuple[tuple[Any, ...], Kept]:
        """Copy tensors into the memory, each with all of its storage.

        They stay there until `forget`: the gradients of a call look at its inputs again.

        Returns:
            What describes them, and for each tensor where its storage lies and that storage itself, as bytes.
        """
        plain = [function.each(value, _plain) for value in values]
        flat = [one for value in plain for one in (value if isinstance(value, list) else [value])]
        wholes = [
            torch.empty(0, dtype=torch.uint8).set_(one.untyped_storage()) for one in flat if isinstance(one, Tensor)
        ]
        sizes = [-(-whole.numel() // _ALIGNMENT) * _ALIGNMENT for whole in wholes]
        offsets = list(itertools.accumulate(sizes, initial=self._room(number, sum(sizes))))
        places = iter(zip(offsets, wholes, strict=False))
        kept: list[tuple[Laid, Tensor]] = []

        def describe(value: Any, want: bool) -> Any:
            if isinstance(value, list):
                return [describe(one, False) for one in value]
            if not isinstance(value, Tensor):
                return value
            offset, whole = next(places)
            if whole.numel():
                torch.frombuffer(self.memory, dtype=torch.uint8, count=whole.numel(), offset=offset).copy_(whole)
            form = value.dtype, tuple(value.shape), tuple(value.stride()), int(value.storage_offset())
            kept.append((Laid(offset, whole.numel(), *form, want), whole))
            return kept[-1][0]

        laid = tuple(describe(value, bool(wanted) and wanted[index]) for index, value in enumerate(plain))
        return laid, kept

    def _room(self, number: int, size: int) -> int:
        """Find room for the tensors of a call, behind those of the one before; what lies there of a living call stays."""
        start = self._cursor if self._cursor + size <= ARENA else 0
        while over := [end for begin, end in self._rooms.values() if begin < start + size and start < end]:
            start = max(over)
        if start + size > ARENA:
            raise InfraError(
                f"the inputs of a call take more than {ARENA / 2**20:.0f} MiB: make the sizes of the exercise smaller"
            )
        self._rooms[number] = start, start + size
        self._cursor = start + size
        return start

    def forget(self, number: int) -> None:
        """Let the tensors of a call go."""
        self._rooms.pop(number, None)

    def changed(self, kept: Kept) -> bool:
        """Tell whether anything of the inputs, or beside them, is another than it was."""
        return any(not torch.equal(self._now(one), whole) for one, whole in kept if one.nbytes)

    def take_back(self, kept: Kept) -> None:
        """Copy what was changed of the inputs, or beside them, into the judge's own: there it is seen."""
        for one, whole in kept:
            if one.nbytes and not torch.equal(now := self._now(one), whole):
                whole.copy_(now)

    def _now(self, one: Laid) -> Tensor:
        return torch.frombuffer(self.memory, dtype=torch.uint8, count=one.nbytes, offset=one.offset)

    def open_book(self, wanted: bool) -> None:
        """Have it begin a new page in the book of its launches, see `cuda_cpu/book.h`, and count what they do where that is wanted."""
        head = inside.BOOK_HEAD.pack(wanted, *[0] * 7, b"")
        self.memory[ARENA : ARENA + len(head)] = head

    def book(self) -> bytes:
        """Return what stands in it."""
        return self.memory[ARENA:]

    def ask(self, ask: Any) -> None:
        """Send its task, a request, or a word to go on."""
        try:
            send(self.link, ask)
        except OSError:
            self._fail()

    def halt(self) -> None:
        """Make it stand still, with all its threads.

        Raises:
            Gone: it has ended.
        """
        os.kill(self.pid, signal.SIGSTOP)
        deadline = time.monotonic() + _STOP_SECONDS
        while (state := self._state()) not in ("T", "t"):
            if state in ("", "Z", "X"):
                self._fail()
            if time.monotonic() > deadline:
                raise InfraError("a process that was stopped goes on")

    def go_on(self) -> None:
        """Let it run again."""
        os.kill(self.pid, signal.SIGCONT)

    def _state(self) -> str:
        """Return `T` where every thread stands still, else the state of one that does not; nothing where it has ended."""
        states = {one.state for one in threads_of(self.pid).values()}
        return next((state for state in states if state not in ("T", "t")), "T" * bool(states))

    def held(self) -> int:
        """Return the bytes that it holds of its own."""
        return bytes_of(self.pid, "status", "RssAnon:")

    def _fail(self) -> NoReturn:
        """Say how it ended by itself."""
        deadline = time.monotonic() + _LAST_SECONDS
        with suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGCONT)
        while (ending := self.server.ending_of(self.pid)) is None:
            if not self.server.alive:
                raise InfraError("the process that runs submissions has ended")
            readable([self.server.fileno()], TICK)
            if time.monotonic() > deadline:  # it has closed its side, and lives
                self._end(self._too_much() if self._group.overran else "closes the way to the judge")
        self._drain()
        if self._group.overran:
            self._end(self._too_much())
        self.kill()
        if ending.from_outside:
            raise InfraError(f"a process that ran a submission was ended from outside ({signal_name(ending.code)})")
        if ending.kind == "signal" and ending.code == signal.SIGSYS:
            raise Gone("asks the system for what is closed to it: a process, the network, its limits (SIGSYS)")
        if ending.kind == "signal":
            raise Gone(f"crashes ({signal_name(ending.code)})")
        if ending.kind == "garbled":  # our own part of it has failed
            raise Gone("breaks what runs it")
        raise Gone(f"ends the process (exit status {ending.code})")

    def _too_much(self) -> str:
        return f"takes more than {self._memory / 2**20:,.0f} MiB of memory"

    def _end(self, reason: str) -> NoReturn:
        self.kill()
        raise Gone(reason)

    def close(self) -> None:
        if self.output_file >= 0:
            self._group.close()
            if self._sight >= 0:
                os.close(self._sight)
        super().close()

    def __exit__(self, *_: object) -> None:
        self.kill()
