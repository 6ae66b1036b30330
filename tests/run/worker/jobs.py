"""Functions that the tests of the worker let it call."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

from lltm_inline.base.progress import emit
from lltm_inline.compiling import cache, job
from lltm_inline.errors import BuildError
from lltm_inline.run import built
from lltm_inline.workers import steps
from lltm_inline.workers.worker import StepMonitor, Tensors


class PrivateError(Exception):
    """An exception of a module that the worker can import, and the caller's process has."""


def add(one: Any, two: Any) -> Any:
    """Return the sum."""
    return one + two


def double(*tensors: torch.Tensor) -> Tensors:
    """Return each tensor times two, with its own strides."""
    return Tensors(2 * tensor for tensor in tensors)


def scribble(tensor: torch.Tensor) -> None:
    """Write into what came along."""
    tensor.fill_(7)


def surroundings() -> dict[str, Any]:
    """Return what the worker has of its caller."""
    return {
        "directory": os.getcwd(),
        "variable": os.environ.get("LLTM_INLINE_TEST"),
        "blas": os.environ.get("OPENBLAS_NUM_THREADS"),
        "threads": torch.get_num_threads(),
        "dtype": str(torch.get_default_dtype()),
    }


def fail(kind: str) -> None:
    """Raise an exception of some kind."""
    if kind == "private":
        raise PrivateError("mine", 3)
    if kind == "build":
        raise BuildError("it does not compile", kernel="op/x", log="the log")
    if kind == "local":

        class Local(Exception):
            """Known to nobody else."""

        raise Local("whose?")
    raise KeyError(kind)


def die(how: str) -> None:
    """End the process in some way, in the step `forward`."""
    with steps.step("forward", "op/x", lambda: ("N=3", ("x (3,) float64",))):
        if how == "exit":
            os._exit(3)
        os.kill(os.getpid(), getattr(signal, how))
        time.sleep(60)


def loop(seconds: float = 60.0, *, deaf: bool = False) -> None:
    """Be busy for long; deaf to Ctrl-C if asked."""
    if deaf:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with steps.step("forward", "op/x"):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass


def speak(text: str, count: int = 1) -> str:
    """Print through Python, and through the file descriptor, some times."""
    for _ in range(count):
        print(text)
        os.write(2, b"to stderr\n")
    return "spoken"


def warn() -> None:
    """Warn."""
    warnings.warn("mind the step", RuntimeWarning, stacklevel=1)


def hold(count: int) -> int:
    """Take memory in one step."""
    with steps.step("forward", "op/x"):
        kept = torch.empty(count, dtype=torch.uint8)
        return kept.numel()


def fork(generations: int, seconds: float) -> None:
    """Fork, and go on as if nothing had been; copies after so many seconds."""
    with steps.step("forward", "op/x"):
        for _ in range(generations):
            if os.fork() == 0:
                time.sleep(seconds)


def tell_and_return(count: int) -> int:
    """Tell of every number on the way."""
    for number in range(count):
        emit("number", number)
    return count


def smuggle() -> Any:
    """Return what must not be taken from a worker: something that is called when it is unpickled."""

    class Call:
        def __reduce__(self) -> Any:
            return os.system, ("true",)

    return Call()


def threads_at_fork() -> int:
    """Return how many threads this process has had since it was forked, before any parallel work."""
    return len(os.listdir("/proc/self/task"))


def modules() -> list[str]:
    """List what is imported."""
    return sorted(sys.modules)


def imported_by_opcheck() -> list[str]:
    """List what `opcheck` imports of torch when it looks at a shipped kernel."""
    import lltm_inline as li

    before = set(sys.modules)
    assert li.check("axpy/cpp", progress=False, trust=True)["opcheck"].ok
    return sorted(name for name in set(sys.modules) - before if name.startswith("torch."))


def daemonise() -> int:
    """Leave a process in a session of its own, as daemons do, and return its number."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if (pid := os.fork()) == 0:
            time.sleep(60)
        os.write(writing, str(pid).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reading, 20))


def blank_the_box(file: int) -> None:
    """Write zeros over the black box, and loop."""
    with steps.step("forward", "op/x"):
        assert isinstance(steps.monitor, StepMonitor)
        time.sleep(0.3)  # until the caller has seen that a step has begun
        steps.monitor.box._memory[:64] = bytes(64)
        while True:
            pass


def babble(text: bytes) -> None:
    """Write into every socket that is open."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), text)
        except OSError:  # the directory that was listed, by now closed
            continue


def close_all() -> None:
    """Close every file."""
    os.closerange(0, 4096)


def leave(status: int) -> None:
    """Raise what ends a program in Python."""
    raise SystemExit(status)


def press() -> None:
    """Raise what a key raises."""
    raise KeyboardInterrupt


def be_silent() -> None:
    """Close what is printed to."""
    os.close(1)
    os.close(2)


def speak_later(seconds: float) -> None:
    """Print when nobody expects it any more."""
    import threading

    threading.Timer(seconds, lambda: os.write(1, b"I am late\n")).start()


def sleep(seconds: float) -> None:
    """Let time pass."""
    time.sleep(seconds)


_counts: dict[str, int] = {}


def count_calls() -> dict[str, int]:
    """Count from now on how often this process renders, looks for a toolchain and hashes a library."""

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            # Of a binding that was compiled apart, which is hashed as well, it hangs on the header whether there is one.
            _counts[function.__name__] += function.__name__ != "hash_file" or arguments[0].suffix == ".so"
            return function(*arguments, **named)

        return call

    for module, name in ((job, "render"), (built, "find_toolchain"), (cache, "hash_file")):
        _counts[name] = 0
        setattr(module, name, counted(getattr(module, name)))
    return _counts


def counts_of_calls() -> dict[str, int]:
    """Return what was counted."""
    return _counts
