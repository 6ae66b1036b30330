"""What this process is doing with a kernel, noted where it can be read after a crash; nothing outside of a worker.

What it tells on its way reaches whoever runs the task, from the worker as well as within one process.

The limits on memory and on left-over processes are kept here too, since both are about one step.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model.registry import Op
    from .black_box import BlackBox

_USUAL_STACK, _LARGEST_STACK = 8 << 20, 64 << 20
#: What C++ and c10 say when there is no memory.
_NO_MEMORY = ("bad_alloc", "can't allocate memory", "std::length_error")

#: What to say of an exception without a text.
NO_EXCEPTION = "something was thrown that is no std::exception (an int, a string): throw std::runtime_error with a text"

_box: BlackBox | None = None
_owner = 0
_memory = 0
_has_children = False
_statm = (0, -1)
_PAGE = resource.getpagesize()
_hard_limit = resource.getrlimit(resource.RLIMIT_DATA)[1]
_listener: ContextVar[Callable[[Event], None] | None] = ContextVar("lltm_inline_listener", default=None)
_set_finder: Callable[[int], None] | None = None


@dataclass(frozen=True)
class Event:
    """Something to know before the answer: a step of progress, a section that is finished, a row that was measured."""

    kind: str
    values: tuple[Any, ...] = ()


class ProcessesLeft(BaseException):
    """The kernel has forked: there are processes now that nobody asked for. Not an Exception: nothing may swallow it."""


def install(box: BlackBox, send: Callable[[Event], None]) -> None:
    """Make this process a worker: note steps in `box`, and send events."""
    global _box, _owner
    _box, _owner = box, os.getpid()
    _listener.set(send)


@contextmanager
def told_to(listener: Callable[[Event], None]) -> Iterator[None]:
    """Let events of this block reach a function of this process."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def limit_memory(count: int) -> None:
    """Let each step take this many bytes beyond what is in use when it begins; 0 for no limit."""
    global _memory
    _memory = count
    if not count:
        _set_limit(resource.RLIM_INFINITY)


def install_recorder(set_finder: Callable[[int], None]) -> None:
    """Remember how to tell the crash recorder who knows the tensors around an address."""
    global _set_finder
    _set_finder = set_finder


def set_finder(address: int) -> None:
    """Let the crash recorder ask the C function at an address; nothing without a recorder."""
    if _set_finder is not None:
        _set_finder(address)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an exception says that the memory which a step may take was not enough."""
    return bool(_memory) and (isinstance(error, MemoryError) or any(word in str(error) for word in _NO_MEMORY))


def is_unknown(error: BaseException) -> bool:
    """Tell whether an exception is all that is left of something that C++ threw and that is no std::exception."""
    return str(error) == "Caught an unknown exception!"


def memory_limit() -> int:
    """Return the bytes that a step may take; 0 for no limit."""
    return _memory


def in_worker() -> bool:
    """Tell whether this process is a worker: everything is trusted there."""
    return _box is not None


def note(step: str, kernel: str = "", case: str = "", inputs: Sequence[str] = ()) -> None:
    """Note that a step begins: from now on its limits count. An empty step is the checker's own work."""
    global _has_children
    if _box is None:
        return
    if os.getpid() != _owner:  # a process that the kernel has forked: it must not go on as if it were the worker
        os._exit(0)
    if step and _memory:
        _set_limit(_data_bytes() + _memory + _stacks())
    _has_children = has_children()
    _box.note(step, kernel, case, tuple(inputs))


def beat() -> None:
    """Note that the step is alive: its wall time counts anew."""
    if _box is not None:
        _box.beat()


def rest() -> None:
    """Note that the kernel has come back.

    Raises:
        ProcessesLeft: it has left processes.
    """
    if _box is None:
        return
    if os.getpid() != _owner:
        os._exit(0)
    if has_children() and not _has_children:
        raise ProcessesLeft
    _set_limit(resource.RLIM_INFINITY)
    _box.note("")


class step:
    """Note a step while the block runs. What raises leaves its step behind, for whoever asks what it was.

    Args:
        name: `load`, `reference`, `forward`, `backward`, `gradcheck`, `benchmark`, `opcheck`.
        kernel: label.
        words: gives the case and the inputs in words; not called outside of a worker.

    Raises:
        ProcessesLeft: at the end: the kernel has left processes.
    """

    # A class, not a generator: there are hundreds of steps in a check, and this takes a few microseconds less for each.
    __slots__ = ("_kernel", "_name", "_words")

    def __init__(
        self, name: str, kernel: str = "", words: Callable[[], tuple[str, Sequence[str]]] = lambda: ("", ())
    ) -> None:
        self._name, self._kernel, self._words = name, kernel, words

    def __enter__(self) -> None:
        if _box is not None:
            note(self._name, self._kernel, *self._words())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            rest()


def describe(op: Op, values: Sequence[Any]) -> list[str]:
    """Describe inputs: `weights (15, 22) float64` for each tensor, `c 2.5` for anything else."""
    words = []
    for argument, value in zip(op.signature.inputs, values, strict=False):
        is_tensor = hasattr(value, "dtype")
        what = f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}" if is_tensor else str(value)
        words.append(f"{argument.name} {what}")
    return words


def tell(kind: str, *values: Any) -> None:
    """Send an event to whoever runs this task."""
    listener = _listener.get()
    if listener is not None and (_box is None or os.getpid() == _owner):
        listener(Event(kind, values))


def say(text: str, more: int = 0) -> None:
    """Tell what is being done now, and how much more of the whole is done."""
    tell("step", text, more)


def has_children() -> bool:
    """Tell whether this process has started others that it has not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _data_bytes() -> int:
    """Return the writable private memory of this process, which is what RLIMIT_DATA counts."""
    global _statm
    if _statm[0] != _owner:
        _statm = (_owner, os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC))
    try:
        return int(os.pread(_statm[1], 256, 0).split()[5]) * _PAGE
    except (OSError, IndexError):  # a kernel has closed the file
        _statm = (0, -1)
        return _data_bytes()


def _stacks() -> int:
    """Return the memory that stacks of threads may still take: RLIMIT_DATA counts all of it, used or not."""
    import torch

    size = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return torch.get_num_threads() * (size if 0 < size < _LARGEST_STACK else _USUAL_STACK)


def _set_limit(count: int) -> None:
    if _hard_limit != resource.RLIM_INFINITY and not 0 <= count <= _hard_limit:
        count = _hard_limit
    resource.setrlimit(resource.RLIMIT_DATA, (count, _hard_limit))
