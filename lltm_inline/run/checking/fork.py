"""Tries calls that may crash in a copy of this process, so that this one lives to tell."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import select
import signal
import warnings
from collections.abc import Callable, Sequence

#: A call that takes longer than this counts as hanging.
PATIENCE = 20.0


def try_each(calls: Sequence[Callable[[], bool]], patience: float = PATIENCE) -> list[str]:
    """Run each call in a forked process and say how it ended.

    Args:
        calls: each returns a truth value; none needs threads or a GPU, which a fork does not have.
        patience: seconds that one call may take.

    Returns:
        For each call `"true"`, `"false"`, or how it took the process down: `"crashes (SIGSEGV)"`, `"hangs"`.

    Example:
        >>> try_each([lambda: True, lambda: os.abort(), lambda: False])
        ['true', 'crashes (SIGABRT)', 'false']
    """
    verdicts: list[str] = []
    while len(verdicts) < len(calls):
        verdicts += _run(calls[len(verdicts) :], patience)
    return verdicts


def _run(calls: Sequence[Callable[[], bool]], patience: float) -> list[str]:
    """Fork once; the list ends with the call that ended the process."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # "multi-threaded": the child uses no thread and no lock of ours
        pid = os.fork()
    if pid == 0:
        _child(calls, write)
    os.close(write)
    verdicts: list[str] = []
    hangs = False
    try:
        while len(verdicts) < len(calls):
            ready, _, _ = select.select([read], [], [], patience)
            hangs = not ready
            answer = os.read(read, 1) if ready else b""
            if not answer:
                break
            verdicts.append("true" if answer == b"1" else "false")
    finally:
        # Also when Ctrl-C arrives here: the child goes first.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL) if hangs or len(verdicts) == len(calls) else None
        _, status = os.waitpid(pid, 0)
        os.close(read)
    if len(verdicts) < len(calls):
        verdicts.append("hangs" if hangs else _ending(status))
    return verdicts


def _child(calls: Sequence[Callable[[], bool]], write: int) -> None:
    """Answer one byte for each call; never return to the caller's code."""
    try:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        for call in calls:
            os.write(write, b"1" if call() else b"0")
    finally:
        os._exit(0)


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"crashes ({signal.Signals(os.WTERMSIG(status)).name})"
    return f"ends the process (exit status {os.WEXITSTATUS(status)})"
