"""The fork server: imports torch once, starts no thread, and forks a worker whenever it is asked to.

A fork of a process with threads would carry their locks along without them; this one has none, and sees to it. It is the
parent of all workers, so it learns of their end, or that somebody has stopped them, at once and from the system itself.
It ends with the process it serves, however that ends, and takes every worker with it.

Messages over the control socket, one packet of JSON each:
  to the server    {"fork": n} with three open files (the worker's socket, its output, its black box)
  from the server  {"ready": pid}, {"warm": true}, {"forked": n, "pid": p}, {"ended": p, "kind": ..., "code": ...}
Where the server counts processes by numbers of its own, an open pidfd comes with a pid, for the other side to read its number there.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..base.stop import readable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PACKET = 1 << 16
#: What the worker needs for its work, imported before it is forked, in pieces, so that a fork waits for one at most.
#: The first gradient imports the last one.
_NEEDED = """
    lltm_inline.checking.check lltm_inline.measure.benchmark lltm_inline.measure.memory lltm_inline.workers.worker
    torch.fx.experimental.symbolic_shapes
"""
#: The first three are pieces of the second that the fourth takes; the last two are for opcheck's last test, which takes two thirds of
#: the first check of a worker.
_WARM = """
    networkx torch.distributed.tensor torch.distributed.fsdp torch._functorch.aot_autograd torch.testing._internal.optests
    sympy.tensor.tensor torch._inductor.decomposition torch._inductor.pattern_matcher
"""
_PATIENCE = 0.5
_LAST_SECONDS = 2.0
_KINDS = {os.CLD_KILLED: "signal", os.CLD_DUMPED: "signal", os.CLD_STOPPED: "stopped", os.CLD_TRAPPED: "stopped"}
#: Exit status of a worker whose own work failed: its files were closed, or what it reads makes no sense.
LOST = 113


def main(control: int) -> None:
    """Serve until the other side of the control socket, SOCK_SEQPACKET, closes."""
    for name in _NEEDED.split():
        importlib.import_module(name)  # what it raises is in the log, where the other side looks for it
    ForkServer(socket.socket(fileno=control), _WARM.split()).run()


def _send(link: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    socket.send_fds(link, [json.dumps(message).encode()], files)
    for file in files:
        os.close(file)


class ForkServer:
    """Forks workers and tells of their end.

    Args:
        link: to the process that asks for workers.
        warm: modules that are imported while nobody asks.
    """

    #: What counts as the end of a worker.
    ends = os.WEXITED | os.WSTOPPED

    def __init__(self, link: socket.socket, warm: Sequence[str] = ()) -> None:
        self._link = link
        self._parent = os.getppid()
        self._workers: set[int] = set()
        self._to_import = list(warm)
        self._importing = False
        self._libc = ctypes.CDLL(None, use_errno=True)

    def run(self) -> None:
        # What a kernel forks and leaves behind becomes a child of this process, which ends it.
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # The socket tells of the other side's end, too, but not while a module is being imported. The system sends this
        # signal also when only the thread ends that started this process: so look who the parent is.
        signal.signal(signal.SIGHUP, lambda *_: self._end_with_parent())
        signal.signal(signal.SIGTERM, lambda *_: self._leave())
        self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: self._reap_while_importing())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _send(self._link, {"ready": os.getpid()}, self.shown(os.getpid()))
        while os.getppid() == self._parent:
            timeout = 0.02 if self._to_import else _PATIENCE
            ready = readable([self._link.fileno(), reading], timeout)
            if reading in ready:
                os.read(reading, 1 << 12)
            self._reap()
            if self._link.fileno() in ready and not self._serve():
                break
            if not ready and self._to_import:
                self._warm_up()
        self._leave()

    def _end_with_parent(self) -> None:
        if os.getppid() != self._parent:
            self._leave()

    def _reap_while_importing(self) -> None:
        """Tell of a death at once also in the middle of an import, which takes seconds on a slow machine."""
        if self._importing:  # else the loop does it, which the wakeup file ends the waiting of
            self._reap()

    def _leave(self) -> None:
        """End all workers, and this process at once: taking down what it has imported takes longer than a small kernel's check."""
        self._end()
        os._exit(0)

    def _serve(self) -> bool:
        """Answer one message; False when nobody is there any more."""
        try:
            data, files, _, _ = socket.recv_fds(self._link, _PACKET, 8)
        except ConnectionError:
            return False
        if not data:
            return False
        message = json.loads(data)
        gc.freeze()  # no worker goes through what was imported, which would copy its pages, too
        pid = os.fork()
        if pid == 0:
            self._become_worker(files)
        for file in files:
            os.close(file)
        self._workers.add(pid)
        _send(self._link, {"forked": message["fork"], "pid": pid, "warm": not self._to_import}, self.shown(pid))
        return True

    def _become_worker(self, files: list[int]) -> None:
        """Turn the copy of this process into a worker; does not return."""
        status = LOST
        try:
            self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number in (signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            gc.enable()
            self._link.close()
            os.setsid()
            requests, output, box = files
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            for file in (nothing, output):
                os.close(file)
            self.work(requests, box)
            status = 0
        except BaseException:  # nothing may climb into the server's own loop
            traceback.print_exc()
        finally:
            os._exit(status)

    def work(self, requests: int, box: int) -> None:
        """Do a worker's work, in the process that was forked for it."""
        from .worker import serve

        serve(requests, box)

    def shown(self, pid: int) -> list[int]:
        """Open what shows a process to the other side where its number does not."""
        return []

    def _reap(self) -> None:
        """Tell of every child that has ended or was stopped, and end what kernels have left behind."""
        while (info := _waitable(self.ends)) is not None:
            pid, kind = info.si_pid, _KINDS.get(info.si_code, "exit")
            # As long as it is not waited for, its number is nobody else's.
            self._kill(pid)
            os.waitpid(pid, 0)
            if pid in self._workers:
                self._workers.discard(pid)
                with suppress(OSError):
                    _send(self._link, {"ended": pid, "kind": kind, "code": info.si_status})
        for pid in set(_children()) - self._workers:
            self._kill(pid)

    @staticmethod
    def _kill(pid: int) -> None:
        """Kill a worker and all of its session."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _warm_up(self) -> None:
        """Import one of the modules that only some checks need."""
        name = self._to_import.pop(0)
        self._importing = True
        with suppress(ImportError):  # another version of torch: the worker will say so when it needs it
            importlib.import_module(name)
        self._importing = False
        threads = len(os.listdir("/proc/self/task"))
        if threads > 1:
            print(f"lltm_inline fork server: {threads} threads after importing {name}", file=sys.stderr)
        if not self._to_import:
            with suppress(OSError):
                _send(self._link, {"warm": True})

    def _end(self) -> None:
        """Kill the workers and everything that they have left."""
        deadline = time.monotonic() + _LAST_SECONDS
        while (found := _children()) and time.monotonic() < deadline:
            for pid in found:  # as one dies, its children become ours
                self._kill(pid)
            with suppress(ChildProcessError):
                os.waitpid(-1, 0)


def _waitable(ends: int) -> Any:
    """Return what is known of a child that has come to one of these ends, without taking its number away; None without one."""
    try:
        return os.waitid(os.P_ALL, 0, ends | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None


def _children() -> list[int]:
    """List the processes whose parent is this one."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
