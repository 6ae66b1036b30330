"""The worker: runs requests one after another, and answers each with a result or with the exception it raised."""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import resource
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..base.progress import emit, listening
from ..compiling.compiler import Build, verify
from ..errors import InputError
from . import steps
from .black_box import BlackBox, Recorder, State
from .channel import Reader, require_travellers, send
from .modules import Modules, Stamp
from .safe_pickle import Raised, wrap

_libc = ctypes.CDLL(None)
_USUAL_STACK, _LARGEST_STACK = 8 << 20, 64 << 20


@dataclass(frozen=True)
class Modes:
    """What torch is set to: for the process, or for the calling thread."""

    threads: int
    dtype: torch.dtype
    precision: str
    device: torch.device
    deterministic: tuple[bool, bool, bool]
    autocast: tuple[tuple[str, bool, torch.dtype], ...]

    @classmethod
    def here(cls) -> Modes:
        """Take down what this process has."""
        return cls(
            torch.get_num_threads(),
            torch.get_default_dtype(),
            torch.get_float32_matmul_precision(),
            torch.get_default_device(),
            (
                torch.are_deterministic_algorithms_enabled(),
                torch.is_deterministic_algorithms_warn_only_enabled(),
                torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined]
            ),
            tuple((kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda")),
        )

    def apply(self) -> None:
        """Set this process the same."""
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        torch.set_default_dtype(self.dtype)
        torch.set_float32_matmul_precision(self.precision)
        if torch.get_default_device() != self.device:
            # Setting one makes every call of torch slower, that of the CPU too: take it back instead.
            torch.set_default_device(None if self.device.type == "cpu" else self.device)
        enabled, warn_only, fill = self.deterministic
        _set_deterministic(enabled, warn_only=warn_only)
        torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
        for kind, switched_on, dtype in self.autocast:
            torch.set_autocast_enabled(kind, switched_on)
            torch.set_autocast_dtype(kind, dtype)
        torch.clear_autocast_cache()


# What torch.use_deterministic_algorithms calls, after it has imported the whole of torch._inductor (1.4 s) to tell it too.
_set_deterministic = torch._C._set_deterministic_algorithms


def directory() -> str:
    """Return where this process is; where that was removed, a directory in which MKL starts."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


@dataclass(frozen=True)
class Surroundings:
    """What of the caller's process the worker takes over, so that a kernel meets there what it would meet here.

    Attributes:
        environment, path: as in `os.environ` and `sys.path`.
        directory: where the caller's process is.
        modes: of torch.
    """

    environment: Mapping[str, str]
    directory: str
    path: tuple[str, ...]
    modes: Modes

    @classmethod
    def here(cls) -> Surroundings:
        """Take down what this process has."""
        return cls(dict(os.environ), directory(), tuple(sys.path), Modes.here())

    def apply(self) -> None:
        """Make this process like the one that was taken down."""
        for name in set(os.environ) - set(self.environment):
            del os.environ[name]
        os.environ.update(self.environment)
        os.chdir(self.directory)
        sys.path[:] = self.path
        self.modes.apply()


@dataclass(frozen=True)
class Request:
    """What the worker is to do.

    Attributes:
        function: called with `arguments`, then the tensors that came along.
        arguments, named: of the function.
        memory: limit of one step.
        recorder: the library that records crashes; None for none.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    memory: int
    recorder: Build | None = None


@dataclass(frozen=True)
class Answer:
    """What came of a request; tensors come along.

    Attributes:
        value: what the function returned.
        raised: what it raised.
        context: in which kernel, in which step, with which inputs.
        no_memory: because the memory was not enough that a step may take.
        tensors: the value has come along as shared memory.
        modules: the files of the user that this process has imported.
    """

    value: Any = None
    raised: Raised | None = None
    context: str = ""
    no_memory: bool = False
    tensors: bool = False
    modules: Mapping[str, Stamp] = field(default_factory=dict)


def serve(requests: int, box: int) -> None:
    """Answer requests until the other side closes the socket; both are file descriptors."""
    # A core of a process this large takes seconds to write, and nobody would read it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # so that lines stand in the order in which they were written
    link = socket.socket(fileno=requests)
    link.setblocking(True)
    monitor = StepMonitor(BlackBox(box))
    steps.install(monitor)
    reader, modules = Reader(link, trusted=True), Modules()
    with listening(lambda event: send(link, event) if monitor.is_owner else None):
        while _serve_one(link, reader, monitor, modules):
            pass


def _serve_one(link: socket.socket, reader: Reader, monitor: StepMonitor, modules: Modules) -> bool:
    """Wait for a request and answer it; nothing of either is kept. False at the end of the connection."""
    try:
        while (message := reader.message()) is None:
            if not reader.feed():
                return False
        modules.begin()
        answer, results = _attempt(*message, monitor)
    except (RuntimeError, MemoryError) as error:  # a tensor for which the GPU has no room
        answer, results = Answer(raised=wrap(error, traceback.format_exc())), ()
    monitor.end_copies()
    sys.stdout.flush()
    sys.stderr.flush()
    _libc.fflush(None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one that comes too late must not end the worker
    send(link, replace(answer, modules=modules.stamps()), results)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return True


def _attempt(
    sent: tuple[Surroundings, bytes], tensors: Sequence[Any], monitor: StepMonitor
) -> tuple[Answer, Sequence[Any]]:
    """Do what is asked; return an answer and its tensors, whatever happens."""
    keep_step = False
    surroundings, body = sent
    try:
        surroundings.apply()
        answer = _answer(_unpickled(body), tensors, monitor)
        if not answer.tensors:
            return answer, ()
        require_travellers(answer.value)
        return Answer(tensors=True), answer.value
    except BaseException as error:
        no_memory = isinstance(error, MemoryError | RuntimeError) and steps.is_out_of_memory(error)
        keep_step = no_memory or isinstance(error, steps.ProcessesLeft)
        monitor.limit_memory(0)  # there must be some for the answer
        raised = wrap(error, traceback.format_exc())
        return Answer(raised=raised, context=_context(error, monitor.box.read()), no_memory=no_memory), ()
    finally:
        monitor.limit_memory(0)
        if not keep_step:  # or it has still to be read
            monitor.box.note("")


def _unpickled(body: bytes) -> Request:
    """Read a request; its op finds its way into the registry."""
    try:
        _, request = pickle.loads(body)
    except Exception as error:  # whatever the modules raise that it imports
        raise InputError(
            f"this cannot be received by the worker: {type(error).__name__}: {error}. The op's functions must stand in a "
            "notebook cell, a script, or a module that another process can import; or say trust=True, which runs the kernel in "
            "this process"
        ) from error
    return request


def _context(error: BaseException, state: State) -> str:
    """Say where an exception comes from."""
    if not state.step:
        return ""
    case = ": ".join(part for part in (state.case, ", ".join(state.inputs)) if part)
    where = f"kernel {state.kernel!r} in {state.step}{f' at {case}' if case else ''}"
    return f"{where}: {steps.NO_EXCEPTION}" if steps.is_unknown(error) else where


def _answer(request: Request, tensors: Sequence[Any], monitor: StepMonitor) -> Answer:
    if request.recorder is not None:
        monitor.record_crashes(request.recorder)
    monitor.limit_memory(request.memory)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        value = request.function(*request.arguments, *tensors, **request.named)
    for one in caught:
        category = one.category if one.category.__module__ in ("builtins", "lltm_inline.errors") else UserWarning
        emit("warning", str(one.message), category)
    return Answer(value, tensors=isinstance(value, Tensors))


class Tensors(tuple[Any, ...]):
    """A result that is to travel as shared memory."""


class StepMonitor(steps.Monitor):
    """Notes the steps of this worker in its black box, and holds each of them to its limit of memory."""

    def __init__(self, box: BlackBox) -> None:
        self.box = box
        self._owner = os.getpid()
        self._recorder: Recorder | None = None
        self._had_children = False
        self._most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    @property
    def is_owner(self) -> bool:
        """Whether this is the worker itself, and no process that a kernel has forked."""
        return os.getpid() == self._owner

    def end_copies(self) -> None:
        """End a process that a kernel has forked: it must not go on as if it were the worker."""
        if not self.is_owner:
            os._exit(0)

    def begin(self, step: str, kernel: str, words: steps.Words) -> None:
        self.end_copies()
        case, inputs = words()
        if self.memory:
            self._set_limit(self._data_bytes() + self.memory + _stacks())
        self._had_children = _has_children()
        self.box.note(step, kernel, case, inputs)

    def beat(self) -> None:
        self.box.beat()

    def end(self) -> None:
        self.end_copies()
        if _has_children() and not self._had_children:
            raise steps.ProcessesLeft
        self._set_limit(resource.RLIM_INFINITY)
        self.box.note("")

    def set_finder(self, address: int) -> None:
        if self._recorder is not None:
            self._recorder.set_finder(address)

    def record_crashes(self, library: Build) -> None:
        """Install the crash recorder: one for the life of a process."""
        if self._recorder is None:
            verify(library)
            self._recorder = Recorder(library.path, self.box)

    def limit_memory(self, count: int) -> None:
        """Let each step take this many bytes beyond what is in use when it begins; 0 for no limit."""
        self.memory = count
        if not count:
            self._set_limit(resource.RLIM_INFINITY)

    def _set_limit(self, count: int) -> None:
        if self._most != resource.RLIM_INFINITY and not 0 <= count <= self._most:
            count = self._most
        resource.setrlimit(resource.RLIMIT_DATA, (count, self._most))

    def _data_bytes(self) -> int:
        """Return the writable private memory of this process, which is what RLIMIT_DATA counts."""
        try:
            return int(os.pread(self._statm, 256, 0).split()[5]) * resource.getpagesize()
        except (OSError, IndexError):  # a kernel has closed the file
            self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
            return self._data_bytes()


def _has_children() -> bool:
    """Tell whether this process has started others that it has not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _stacks() -> int:
    """Return the memory that stacks of threads may still take: RLIMIT_DATA counts all of it, used or not."""
    size = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return torch.get_num_threads() * (size if 0 < size < _LARGEST_STACK else _USUAL_STACK)
