"""The black box: memory that two processes share, and that outlives a crash of one of them.

The worker notes in it what it is about to do, and the crash recorder (`native/recorder.cpp`) what it saw when the process
died. Both are read from outside, at any moment, also when the worker was killed in the middle of writing:

    state    two slots, written in turn and then published by one number. A reader copies the published slot, and takes the
             copy when the number is still the same. Whoever dies half-way leaves the other slot, which is whole.
    death    written once in the life of a worker: the first crash wins
    where    written anew each time somebody asks, between two increments of a number that is odd meanwhile

A kernel that writes at random addresses may hit this memory, too: everything that is read here is taken for what it is, a
number or a text of limited length, and the size of the memory is sealed.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import signal
import struct
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ..native.layout import KINDS, Record, Records, RegionRecord

_SLOT_BYTES = 8192
_SLOTS_AT = 64
_RECORDS_AT = 20480  # the recorder maps its part itself: whole pages
_TURN, _BEAT, _LENGTH, _PID = map(struct.Struct, ("=Q", "=Qd", "=I", "=q"))
_TURN_AT, _BEAT_AT = 0, 8
_SEPARATOR = "\0"


@dataclass(frozen=True)
class State:
    """What the worker is doing.

    Attributes:
        step: `"forward"`, `"gradcheck"` and the like; empty between two steps.
        kernel: label of the kernel.
        case: which of the step's cases.
        inputs: what the kernel was given, `"weights (15, 22) float64"`.
        beats: how often a step has begun or shown that it is alive.
        started: when it did so last, in the seconds of `time.monotonic()`.
    """

    step: str = ""
    kernel: str = ""
    case: str = ""
    inputs: tuple[str, ...] = ()
    beats: int = 0
    started: float = 0.0


@dataclass(frozen=True)
class Frame:
    """One call on a thread's stack.

    Attributes:
        path: of the mapped file that holds the code; empty where none does.
        offset: of the instruction in that file, as the file's own addresses count: the one that failed, or the call itself.
    """

    path: str
    offset: int


@dataclass(frozen=True)
class Region:
    """The tensor around an address.

    Attributes:
        name: `"weights"`.
        base: address of its first element.
        nbytes, itemsize: of its memory and of one element.
        shape, dtype: `(15, 22)`, `"float64"`.
    """

    name: str
    base: int
    nbytes: int
    itemsize: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Evidence:
    """What the recorder saw.

    Attributes:
        kind: `"signal"`, `"terminate"` (an exception that nobody caught, or `std::terminate()` itself), `"exit"`, or
            `"where"`: somebody asked, and the worker went on.
        signal: its number; of a terminate SIGABRT.
        code: `si_code` of the signal; 0 and below when it was sent and not caused by an instruction.
        address: what could not be read or written; None where the processor does not say.
        write: whether it was written to; None where that is not known.
        status: with which the process was to exit; -1 where that was not told.
        exception: type of the uncaught exception, `"std::runtime_error"`; empty for none.
        message: its text; of an abort what the C library said, `"free(): double free detected in tcache 2"`.
        frames: the innermost first.
        region: the tensor around the address, where one is known.
        cuda_thread: of device `cuda-cpu`, `"kernel k, block (0, 0, 0), thread (5, 0, 0)"`; empty where none ran.
        main_thread: whether it happened on the thread that called the kernel.
        overflow: the address is where the stack would have grown to.
        jump: the address was jumped to: a call through a pointer to no function.
        waiting: the thread was waiting in a call of the operating system, for a lock, for instance.
        still: it was in a jump to itself, which is what compilers make of an endless loop with nothing in it.
        cpu: processor time of the whole process until then, in seconds.
    """

    kind: str
    signal: int = 0
    code: int = 0
    address: int | None = None
    write: bool | None = None
    status: int = 0
    exception: str = ""
    message: str = ""
    frames: tuple[Frame, ...] = ()
    region: Region | None = None
    cuda_thread: str = ""
    main_thread: bool = True
    overflow: bool = False
    jump: bool = False
    waiting: bool = False
    still: bool = False
    cpu: float = 0.0


_SIZE = -(-(_RECORDS_AT + ctypes.sizeof(Records)) // mmap.PAGESIZE) * mmap.PAGESIZE
_DEATH_AT, _WHERE_AT = (_RECORDS_AT + getattr(Records, name).offset for name in ("death", "where"))


class BlackBox(AbstractContextManager["BlackBox"]):
    """Memory shared by the caller's process and the worker.

    Args:
        file: descriptor of a file that `create` has made, its own from then on.

    Example:
        >>> with BlackBox.create() as box:
        ...     box.note("forward", "lltm/fused", inputs=("weights (15, 22) float64",))
        ...     box.read().step, box.read().beats, box.evidence()
        ('forward', 1, None)
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._memory = mmap.mmap(file, _SIZE)
        self._turn, self._beats = (_TURN.unpack_from(self._memory, place)[0] for place in (_TURN_AT, _BEAT_AT))

    @classmethod
    def create(cls) -> BlackBox:
        """Make an empty one, in memory of its own; it is gone when the last process that has it is."""
        file = os.memfd_create("lltm_inline black box", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(file, _SIZE)
        # A worker that cut it short would kill whoever reads it.
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return cls(file)

    def fileno(self) -> int:
        """Return the file descriptor, to be handed to another process."""
        return self._file

    def close(self) -> None:
        """Give up the memory in this process."""
        self._memory.close()
        os.close(self._file)

    def __exit__(self, *_: object) -> None:
        self.close()

    def note(self, step: str, kernel: str = "", case: str = "", inputs: Sequence[str] = ()) -> None:
        """Note that a step begins, as in `State`; its time counts from now. An empty step is none."""
        self.beat()  # first: a reader in between must not find the new step with the old time, and take it for late
        self._publish(_SEPARATOR.join((step, kernel, case, *inputs)))

    def beat(self) -> None:
        """Show that the step is alive: its time counts from now."""
        self._beats += 1
        self._put(_BEAT_AT, _BEAT.pack(self._beats, time.monotonic()))

    def _publish(self, text: str) -> None:
        payload = text.encode(errors="replace")[: _SLOT_BYTES - _LENGTH.size]
        self._turn += 1
        place = _SLOTS_AT + (self._turn & 1) * _SLOT_BYTES
        _LENGTH.pack_into(self._memory, place, len(payload))
        place += _LENGTH.size
        self._memory[place : place + len(payload)] = payload
        self._put(_TURN_AT, _TURN.pack(self._turn))

    def _put(self, place: int, value: bytes) -> None:
        """Write a number or two at once. `pack_into` clears them first, and a reader in between would find nothing."""
        self._memory[place : place + len(value)] = value

    def read(self) -> State:
        """Read what the worker is doing, or was doing when it died."""
        for _ in range(1000):  # once as a rule; the writer would have to overtake the reader twice for another turn
            turn = _TURN.unpack_from(self._memory, _TURN_AT)[0]
            place = _SLOTS_AT + (turn & 1) * _SLOT_BYTES
            length = min(_LENGTH.unpack_from(self._memory, place)[0], _SLOT_BYTES - _LENGTH.size)
            payload = self._memory[place + _LENGTH.size : place + _LENGTH.size + length]
            beats, started = beat = _BEAT.unpack_from(self._memory, _BEAT_AT)
            # Twice: it is read byte by byte, and half of an old time with half of a new one may lie in the future.
            same = beat == _BEAT.unpack_from(self._memory, _BEAT_AT)
            if same and _TURN.unpack_from(self._memory, _TURN_AT)[0] == turn:
                break
        parts = payload.decode(errors="replace").split(_SEPARATOR)
        step, kernel, case, *inputs = [*parts, *[""] * (3 - len(parts))]
        if not 0 <= started <= time.monotonic():  # scribbled over: a step of which nobody knows when it began is late
            started = 0.0
        return State(step, kernel, case, tuple(inputs), beats, started)

    def evidence(self) -> Evidence | None:
        """Read what the recorder saw: of the worker's death if there was one, else of the last question where it is."""
        return self._evidence(_DEATH_AT) or self._evidence(_WHERE_AT)

    def ask(self, process: int, seconds: float = 0.2) -> Evidence | None:
        """Ask a running worker where it is, and let it go on.

        Args:
            process: id of the worker. It is left alone unless the recorder is installed in this very process: it would die.
            seconds: how long to wait for the answer; None comes back when there is none, as from a stopped process.

        Raises:
            ProcessLookupError: it has ended.
        """
        if _PID.unpack_from(self._memory, _RECORDS_AT)[0] != process:
            return None
        before = _TURN.unpack_from(self._memory, _WHERE_AT)[0]
        os.kill(process, signal.SIGUSR1)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if _TURN.unpack_from(self._memory, _WHERE_AT)[0] > before + 1:
                return self._evidence(_WHERE_AT)
            time.sleep(0.001)
        return None

    def _evidence(self, place: int) -> Evidence | None:
        for _ in range(100):
            record = Record.from_buffer_copy(self._memory, place)
            if record.turn % 2 == 0 and _TURN.unpack_from(self._memory, place)[0] == record.turn:
                return _as_evidence(record)
            time.sleep(0.0001)
        return _as_evidence(record)  # it died, or was stopped, while it wrote: what there is


def _as_evidence(record: Record) -> Evidence | None:
    if not 0 < record.kind < len(KINDS):
        return None
    same = {name: getattr(record, name) for name in ("signal", "code", "status", "cpu")}
    flags = {name: bool(getattr(record, name)) for name in ("main_thread", "overflow", "jump", "waiting", "still")}
    return Evidence(
        kind=KINDS[record.kind],
        address=record.address if record.has_address else None,
        write=None if record.write < 0 else bool(record.write),
        exception=_text(record.exception),
        # c10::Error adds a C++ stack trace of its own.
        message=_text(record.message).partition("\nException raised from ")[0].rstrip(),
        frames=_frames(record),
        region=_region(record.region) if record.has_region else None,
        cuda_thread=_cuda_thread(record),
        **same,
        **flags,
    )


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _frames(record: Record) -> tuple[Frame, ...]:
    objects = [os.fsdecode(item.path) for item in record.objects[: max(0, record.object_count)]]
    frames = record.frames[: max(0, record.frame_count)]
    return tuple(
        Frame(objects[frame.object] if 0 <= frame.object < len(objects) else "", frame.offset) for frame in frames
    )


def _cuda_thread(record: Record) -> str:
    block, thread = tuple(record.cuda_at[:3]), tuple(record.cuda_at[3:])
    return f"kernel {_text(record.cuda_kernel)}, block {block}, thread {thread}" if record.cuda_kernel else ""


def _region(record: RegionRecord) -> Region:
    shape = tuple(record.shape[: max(0, record.ndim)])
    return Region(_text(record.name), record.base, record.nbytes, record.itemsize, shape, _text(record.dtype))


class Recorder:
    """The crash recorder, `native/recorder.cpp`: from now on the death of this process is recorded. On the main thread, once.

    Args:
        library: the built recorder.
        black_box: where the record goes. It is mapped for the recorder anew, for as long as the process lives.

    Raises:
        RuntimeError: it was installed before, or there is no memory for it.
    """

    def __init__(self, library: Path | str, black_box: BlackBox) -> None:
        self._library = loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)  # for cuda_cpu/block.h
        loaded.recorder_size.restype = ctypes.c_uint64
        loaded.recorder_install.argtypes = (ctypes.c_int, ctypes.c_int64)
        loaded.recorder_set_finder.argtypes, loaded.recorder_set_finder.restype = (ctypes.c_void_p,), None
        if loaded.recorder_size() != ctypes.sizeof(Records):
            raise RuntimeError(
                f"the recorder writes {loaded.recorder_size()} bytes, and the black box has {ctypes.sizeof(Records)}"
            )
        failed = loaded.recorder_install(black_box.fileno(), _RECORDS_AT)
        if failed:
            reason = "it was installed before" if failed == 1 else "no memory for it"
            raise RuntimeError(f"the recorder could not be installed: {reason}")

    def set_finder(self, address: int) -> None:
        """Have a function asked for the tensor around a faulting address: `int (uintptr_t, Region*)`, safe in signal handlers."""
        self._library.recorder_set_finder(address)
