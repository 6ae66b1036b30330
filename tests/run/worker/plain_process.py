"""What becomes of a process that runs a crashing kernel without a worker. Run as a program, with jobs on standard input.

A job is the library that was built (`load_inline` loads it just like this), its namespace, and what to do with it. torch is
imported once; every job then runs in a fork of its own, all beside each other, watched by this process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import torch

#: How long a process may be silent, and how large it may grow, before it is taken for one that never ends.
SECONDS = 4.0
MOST_BYTES = 2**30
_SIZE = 19


@dataclass
class Running:
    """One job in a process of its own.

    Attributes:
        job: what it does.
        pid: of the process, which leads a session of its own.
        output: what it prints, not kept but counted.
        verdicts: where it tells what became of it, once for each process that it has become.
        printed, words: what came through the two.
        ending: what became of it, as seen from here.
        heard, resident: when it last printed or grew, and how large it is.
    """

    job: dict[str, Any]
    pid: int
    output: int
    verdicts: int
    printed: int = 0
    words: list[str] = field(default_factory=list)
    ending: str = ""
    signalled: bool = False
    heard: float = field(default_factory=time.monotonic)
    resident: int = 0

    def grow(self) -> None:
        """Look how large it is; while it grows by the MiB it is not silent."""
        with open(f"/proc/{self.pid}/statm") as file:
            now = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        if now > self.resident + (1 << 20):
            self.resident, self.heard = now, time.monotonic()


def start(job: dict[str, Any]) -> Running:
    """Fork a process that does the job."""
    output, out = os.pipe()
    fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, 1 << 20)
    verdicts, verdict = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for source, target in ((null, 0), (out, 1), (null, 2)):
            os.dup2(source, target)
        try:
            word = _run(job)
        except Exception as error:  # whatever the kernel throws
            word = f"goes on with {type(error).__name__}"
        os.write(verdict, f"{word}\n".encode())
        os._exit(0)
    os.close(out)
    os.close(verdict)
    return Running(job, pid, output, verdicts)


def _run(job: dict[str, Any]) -> str:
    torch.ops.load_library(job["path"])
    operators = getattr(torch.ops, job["namespace"])
    for _ in range(job["calls"]):
        x = torch.arange(1, _SIZE + 1, dtype=torch.float64)
        before = x.clone()
        y = operators.forward(x)
        # Asked here: freed below, y may take the process with it.
        right, intact = torch.equal(y, before * 2), torch.equal(x, before)
        if job["step"] == "backward":
            operators.backward(torch.ones_like(y), True)
        del y
    if not intact:
        return "goes on, and x is changed"
    return f"goes on, and y is {'right' if right else 'wrong'}"


def watch(running: list[Running]) -> None:
    """Wait until every process has ended, or was ended because it never would."""
    open_pipes = {pipe: one for one in running for pipe in (one.output, one.verdicts)}
    while open_pipes or any(not one.ending for one in running):
        for pipe in select.select(list(open_pipes), [], [], 0.02)[0] if open_pipes else []:
            one = open_pipes[pipe]
            data = os.read(pipe, 1 << 20)
            one.heard = time.monotonic()
            if not data:
                del open_pipes[pipe]
            elif pipe == one.output:
                one.printed += len(data)
            else:
                one.words += data.decode().split("\n")[:-1]
        for one in running:
            if not one.ending:
                _look_at(one, alone=one.verdicts not in open_pipes)


def _look_at(one: Running, *, alone: bool) -> None:
    """See whether a process has ended; `alone` says that no copy of it is left that could speak."""
    _send_signal(one)
    one.grow()
    silent = time.monotonic() - one.heard > SECONDS
    status = os.waitid(os.P_PID, one.pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    if status is not None:
        if status.si_code == os.CLD_EXITED and not alone and not silent:
            return  # what it has forked goes on
        one.ending = _ending(status)
    elif one.resident > MOST_BYTES:
        one.ending = "takes more than 1 GiB"
    elif silent:
        one.ending = "hangs"
    if one.ending:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)  # with the processes that it has become
        os.waitpid(one.pid, 0)


def _send_signal(one: Running) -> None:
    """Send the signal that comes from outside, once the kernel runs."""
    if not one.job["signal"] or one.signalled:
        return
    with open(f"/proc/{one.pid}/comm") as file:
        if file.read().strip() == "it-happens":
            os.kill(one.pid, getattr(signal, one.job["signal"]))
            one.signalled = True


def _ending(status: Any) -> str:
    if status.si_code == os.CLD_STOPPED:
        return "stands still"
    if status.si_code == os.CLD_EXITED:
        return f"ends with exit status {status.si_status}"
    return f"dies of {signal.Signals(status.si_status).name}"


def verdict(one: Running) -> str:
    """Say in a few words what became of the process."""
    if not one.words:
        return one.ending
    if len(one.words) > 1:
        return f"goes on as {len(one.words)} processes"
    return f"goes on, and prints {one.printed >> 20} MiB" if one.printed > 1 << 20 else one.words[0]


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # to write one would take longer
    jobs = json.load(sys.stdin)
    processes = [start(job) for job in jobs]
    watch(processes)
    print(json.dumps({one.job["name"]: verdict(one) for one in processes}))
