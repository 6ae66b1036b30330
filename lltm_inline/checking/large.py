"""Large numbers in arguments `int`: those with which reference and kernel come back.

Either may count up to such a number, or ask for as many elements. So it is tried first in a copy of this process, which is ended after
a moment; what the copy does, nobody sees.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import signal
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ..run.cases.case import LARGE, Case, dtypes_of, prime_size
from ..run.cases.expectation import Expected, as_finite, expect
from ..workers import steps
from .runner import CaseResult, Runner

#: So many seconds of the processor each number may take, and so many times what the longest case took; and of the clock, if it waits.
#: A copy may take so much memory.
_SECONDS, _TIMES, _PATIENCE, _BYTES = 0.1, 10, 5, 1 << 28
#: Of what an exception says.
_LETTERS = 300
_LATE = (signal.SIGPROF, signal.SIGALRM)
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
#: What the copy writes of a case: that the reference has come back, then that the kernel has; or why the case is left out.
_REFERENCE, _KERNEL, _WHY = "r", "k", "!"
_COUNTS = "does not come back soon: it may count up to it"


def large_numbers(runner: Runner) -> Iterator[Case]:
    """Yield the cases in which an `int` is more than 32 bits hold; what is left out, and why, goes to what the runner has not tried.

    Nothing happens before the first is asked for: by then it is known how long reference and kernel take.
    """
    op = runner.op
    integers = [one.name for one in op.signature.inputs if one.type.removesuffix("?") == "int" and op.corners]
    if not integers:
        return
    plain = Case("numbers", prime_size(op), dtypes_of(op)[0])
    try:
        known = expect(op, plain)
    except Exception:  # the plain case tells of it
        return
    seconds = _SECONDS + _TIMES * sum(took.seconds for took in runner.longest.values())
    own = dict(zip((one.name for one in op.signature.inputs), known.inputs, strict=True))
    for name in integers:
        cases = [replace(plain, numbers=((name, number),)) for number in (own[name], *LARGE)]
        told, late = _tried(runner, cases, known, seconds)
        _, *rest = told.split("\n")
        if not rest:
            why = "is held up" if late else "ends"
            runner.untaken.append(f"large numbers in {name}: the copy of the process in which they are tried {why}")
        for case, said in zip(cases[1:], rest, strict=False):
            # A kernel that has ended the copy is to be seen.
            if said == _REFERENCE + _KERNEL or (said == _REFERENCE and not late):
                yield case
                continue
            who = "kernel" if said else "reference"
            why = f"{case.describe(op)}: the {who} {_COUNTS if late else 'ends the process'}"
            runner.untaken.append(said.removeprefix(_WHY) if said.startswith(_WHY) else why)


def _tried(runner: Runner, cases: Sequence[Case], known: Expected, seconds: float) -> tuple[str, bool]:
    """Run cases, the first with a number of the op's own, in a copy of this process.

    Returns what the copy wrote, and whether it did not come to the end in time.
    """
    read, write = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads may hold locks: then the copy is late
            child = os.fork()
        if not child:
            _try(runner, cases, known, seconds, write)
        os.close(write)
        _, status = os.waitpid(child, 0)
        return os.read(read, 1 << 14).decode(), os.WIFSIGNALED(status) and os.WTERMSIG(status) in _LATE
    finally:
        os.close(read)


def _try(runner: Runner, cases: Sequence[Case], known: Expected, seconds: float, write: int) -> None:
    """Be the copy: call the reference, then the kernel, with each of the numbers, and end.

    In a thread of its own: OpenMP would wait for those that have worked for this one, and a copy has none of them.
    A number of the op's own has no limit of the processor: what a copy needs at first is not what a number takes.
    """

    def tell(what: str) -> None:
        os.write(write, what.encode())

    def look(case: Case) -> None:
        result = CaseResult()
        call = runner.begin(case, result)
        if call is None:
            tell(f"{_WHY}{' '.join(result.skipped.split())[:_LETTERS]}\n")
        elif not as_finite(call.expected, known):
            tell(f"{_WHY}{case.describe(runner.op)}: the reference's results are not finite\n")
        else:
            tell(_REFERENCE)
            runner.forward(call, result)
            tell(f"{_KERNEL}\n")

    try:
        _bind()
        alone = ThreadPoolExecutor(1)
        for case in cases:
            signal.setitimer(signal.ITIMER_PROF, seconds if case.is_large else 0)
            signal.alarm(math.ceil(_PATIENCE + seconds))
            alone.submit(look, case).result()
    finally:
        os._exit(0)


def _bind() -> None:
    """Hold the copy to its limits, silence it, and cut it off from what is known of this process."""
    gc.disable()  # going through all that this process holds takes longer than a number may
    steps.install(steps.Monitor())
    for one in (*_CRASHES, *_LATE):
        signal.signal(one, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (held + _BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
