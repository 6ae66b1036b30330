"""What this process is doing with a kernel: told to a monitor, which in a worker notes it where it can be read after a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model.registry import Op

#: The case and the inputs of a step, in words.
Words = Callable[[], tuple[str, Sequence[str]]]

#: What C++ and c10 say when there is no memory.
_NO_MEMORY = ("bad_alloc", "can't allocate memory", "std::length_error")

#: What to say of an exception without a text.
NO_EXCEPTION = "something was thrown that is no std::exception (an int, a string): throw std::runtime_error with a text"


class ProcessesLeft(BaseException):
    """The kernel has forked: there are processes now that nobody asked for. Not an Exception: nothing may swallow it."""


class Monitor:
    """Is told of every step. This one does nothing with it; a worker installs one that does, see `lltm_inline.workers.worker`.

    Attributes:
        memory: how many bytes a step may take beyond what is in use when it begins; 0 for no limit.
    """

    memory = 0

    def begin(self, step: str, kernel: str, words: Words) -> None:
        """A step begins: its limits count from now on."""

    def beat(self) -> None:
        """The step is alive: its time counts anew."""

    def end(self) -> None:
        """The kernel has come back.

        Raises:
            ProcessesLeft: it has left processes.
        """

    def set_finder(self, address: int) -> None:
        """After a crash, the C function at this address knows the tensor around an address."""


#: That of this process.
monitor = Monitor()


def install(new: Monitor) -> None:
    """Make this process a worker."""
    global monitor
    monitor = new


def in_worker() -> bool:
    """Tell whether this process is a worker: everything is trusted there."""
    return type(monitor) is not Monitor


class step:
    """Tell the monitor of a step while the block runs. What raises leaves its step behind, for whoever asks what it was.

    Args:
        name: `load`, `reference`, `forward`, `backward`, `gradcheck`, `benchmark`, `opcheck`.
        kernel: label.
        words: gives the case and the inputs in words; not called outside of a worker.

    Raises:
        ProcessesLeft: at the end: the kernel has left processes.
    """

    # A class, not a generator: there are hundreds of steps in a check, and this takes a few microseconds less for each.
    __slots__ = ("_what",)

    def __init__(self, name: str, kernel: str = "", words: Words = lambda: ("", ())) -> None:
        self._what = name, kernel, words

    def __enter__(self) -> None:
        monitor.begin(*self._what)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            monitor.end()


def describe(op: Op, values: Sequence[Any]) -> list[str]:
    """Describe inputs: `weights (15, 22) float64` for each tensor, `c 2.5` for anything else."""
    return [f"{a.name} {_words(value)}" for a, value in zip(op.signature.inputs, values, strict=False)]


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_words, value))}]"
    return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}" if hasattr(value, "dtype") else str(value)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an exception says that the memory which a step may take was not enough."""
    is_about_memory = isinstance(error, MemoryError) or any(word in str(error) for word in _NO_MEMORY)
    return bool(monitor.memory) and is_about_memory


def is_unknown(error: BaseException) -> bool:
    """Tell whether an exception is all that is left of something that C++ threw and that is no std::exception."""
    return str(error) == "Caught an unknown exception!"
