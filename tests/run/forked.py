"""Calls that may crash, in a copy of the test's process."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import warnings
from collections.abc import Callable


def ending(call: Callable[[], bool]) -> str:
    """Call a function in a forked process; return what it returned as "true" or "false", or the signal that ended the process.

    Args:
        call: needs no threads, which a fork does not have.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded": none of the threads is needed
        pid = os.fork()
    if pid == 0:
        status = 2
        try:
            faulthandler.disable()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(60)
            status = 0 if call() else 1
        finally:
            os._exit(status)
    _, ended = os.waitpid(pid, 0)
    if os.WIFSIGNALED(ended):
        return signal.Signals(os.WTERMSIG(ended)).name
    return {0: "true", 1: "false"}.get(os.WEXITSTATUS(ended), "raised")
