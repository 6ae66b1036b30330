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
from dataclasses import dataclass
from typing import Any

import torch

from ..build.compiler import Build, verify
from ..errors import InputError
from . import steps
from .black_box import BlackBox, State
from .channel import Reader, require_travellers, send
from .modules import Modules
from .safe_pickle import Raised, wrap

_libc = ctypes.CDLL(None)


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
        set_deterministic(enabled, warn_only=warn_only)
        torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
        for kind, switched_on, dtype in self.autocast:
            torch.set_autocast_enabled(kind, switched_on)
            torch.set_autocast_dtype(kind, dtype)
        torch.clear_autocast_cache()


# What torch.use_deterministic_algorithms calls, after it has imported the whole of torch._inductor (1.4 s) to tell it too.
set_deterministic = torch._C._set_deterministic_algorithms


@dataclass(frozen=True)
class Surroundings:
    """What of the caller's process the worker takes over, so that a kernel meets there what it would meet here.

    Attributes:
        environment, path: as in `os.environ` and `sys.path`.
        directory: where the caller's process is; None where that was removed.
        modes: of torch.
    """

    environment: Mapping[str, str]
    directory: str | None
    path: tuple[str, ...]
    modes: Modes

    @classmethod
    def here(cls) -> Surroundings:
        """Take down what this process has."""
        try:
            directory = os.getcwd()
        except FileNotFoundError:
            directory = None
        return cls(dict(os.environ), directory, tuple(sys.path), Modes.here())

    def apply(self) -> None:
        """Make this process like the one that was taken down."""
        for name in set(os.environ) - set(self.environment):
            del os.environ[name]
        os.environ.update(self.environment)
        os.chdir(self.directory or "/")  # in one that was removed MKL does not start
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
    """

    value: Any = None
    raised: Raised | None = None
    context: str = ""
    no_memory: bool = False
    tensors: bool = False


def serve(requests: int, box: int) -> None:
    """Answer requests until the other side closes the socket.

    Args:
        requests: file descriptor of a connected stream socket.
        box: of the black box.
    """
    # A core of a process this large takes seconds to write, and nobody would read it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # so that lines stand in the order in which they were written
    link = socket.socket(fileno=requests)
    link.setblocking(True)
    black_box = BlackBox.open(box)
    steps.install(black_box, lambda event: send(link, event))
    reader = Reader(link, trusted=True)
    owner = os.getpid()
    modules = Modules()
    while _serve_one(link, reader, black_box, modules, owner):
        pass


def _serve_one(link: socket.socket, reader: Reader, box: BlackBox, modules: Modules, owner: int) -> bool:
    """Wait for a request and answer it; nothing of either is kept. False at the end of the connection."""
    try:
        while (message := reader.message()) is None:
            if not reader.feed():
                return False
        answer, results = _attempt(*message, box, modules)
    except (RuntimeError, MemoryError) as error:  # a tensor for which the GPU has no room
        answer, results = Answer(raised=wrap(error, traceback.format_exc())), ()
    if os.getpid() != owner:  # a process that the kernel has forked
        os._exit(0)
    sys.stdout.flush()
    sys.stderr.flush()
    _libc.fflush(None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one that comes too late must not end the worker
    send(link, answer, results)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return True


def _attempt(
    sent: tuple[Surroundings, bytes], tensors: Sequence[Any], box: BlackBox, modules: Modules
) -> tuple[Answer, Sequence[Any]]:
    """Do what is asked; return an answer and its tensors, whatever happens."""
    keep_step = False
    surroundings, body = sent
    try:
        surroundings.apply()
        modules.refresh()
        answer = _answer(_unpickled(body), tensors, box)
        if not answer.tensors:
            return answer, ()
        require_travellers(answer.value)
        return Answer(tensors=True), answer.value
    except BaseException as error:
        no_memory = isinstance(error, MemoryError | RuntimeError) and steps.is_out_of_memory(error)
        keep_step = no_memory or isinstance(error, steps.ProcessesLeft)
        steps.limit_memory(0)  # there must be some for the answer
        raised = wrap(error, traceback.format_exc())
        return Answer(raised=raised, context=_context(error, box.read()), no_memory=no_memory), ()
    finally:
        steps.limit_memory(0)
        if not keep_step:  # or it has still to be read
            box.note("")


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


def _answer(request: Request, tensors: Sequence[Any], box: BlackBox) -> Answer:
    if request.recorder is not None:
        _record(request.recorder, box)
    steps.limit_memory(request.memory)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        value = request.function(*request.arguments, *tensors, **request.named)
    for one in caught:
        category = one.category if one.category.__module__ in ("builtins", "lltm_inline.errors") else UserWarning
        steps.tell("warning", str(one.message), category)
    return Answer(value, tensors=isinstance(value, Tensors))


class Tensors(tuple[Any, ...]):
    """A result that is to travel as shared memory."""


_recording = False


def _record(recorder: Build, box: BlackBox) -> None:
    """Install the crash recorder: one for the life of a process."""
    global _recording
    if not _recording:
        from .recorder import install

        verify(recorder)
        steps.install_recorder(install(recorder.path, box).set_finder)
        _recording = True
