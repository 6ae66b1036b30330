"""The worker itself: what goes over, what comes back, how it ends, and that the caller's process never notices more than it must."""

from __future__ import annotations

import ast
import io
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from lltm_inline.errors import BuildError, InputError, WorkerError
from lltm_inline.workers import channel, safe_pickle
from lltm_inline.workers.client import Worker
from lltm_inline.workers.limits import Limits
from lltm_inline.workers.outcome import Died
from lltm_inline.workers.process import Watchdog
from tests.run.worker import jobs
from tests.stopping import gone, is_alive, until


def test_results_come_back_from_another_process(worker: Worker) -> None:
    """Arguments go over, results come back, and both live in processes of their own."""
    assert worker.run(jobs.add, 2, 3).value == 5
    assert worker.run(os.getpid).value == worker.pid != os.getpid()


def one_that_stays(worker: Worker) -> int:
    """Return the number of its process, once that has all that it needs: one that has not is replaced some time."""
    while not (worker._idle and worker._idle.warm):
        worker.run(os.getpid)
        time.sleep(0.01)
    return int(worker.run(os.getpid).value)


def test_worker_is_warm_and_serves_again(worker: Worker) -> None:
    """Two requests meet the same process, in which torch was imported before it was forked."""
    first, second = one_that_stays(worker), worker.run(os.getpid).value
    assert first == second
    assert "torch" in worker.run(jobs.modules).value


def test_a_worker_is_forked_with_what_a_check_needs(worker: Worker) -> None:
    """What opcheck imports takes longer than the check of a small kernel: the server has it once, and has one thread all the same."""
    worker.run(os.getpid)
    server = worker._server
    assert server is not None
    while not server.warm and server.alive:
        time.sleep(0.02)
        server.poll()
    found = worker.run(jobs.imported_by_opcheck, fresh=True).value
    assert len(found) < 40, found  # of 600 in all
    assert len(os.listdir(f"/proc/{server.pid}/task")) == 1


def test_worker_is_forked_from_a_process_without_threads(worker: Worker) -> None:
    """A fork carries the locks of other threads along but not the threads: the fork server has one thread alone."""
    worker.run(os.getpid)
    assert worker._server is not None
    assert len(os.listdir(f"/proc/{worker._server.pid}/task")) == 1


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12.0).view(3, 4),
        torch.arange(12.0).view(3, 4).t(),
        torch.arange(24.0)[1::2],
        torch.tensor(2.5).expand(3, 4),
        torch.empty(0, 3),
        torch.tensor(3),
        torch.tensor([1 + 2j, 3j]),
        torch.tensor([1 + 2j, 3j]).conj(),
        torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
    ],
    ids=["plain", "transposed", "strided", "expanded", "empty", "scalar", "complex", "conjugate", "bfloat16"],
)
def test_tensors_keep_values_strides_and_dtype(worker: Worker, tensor: torch.Tensor) -> None:
    """They go over as shared memory, the stretch that their strides reach, and come back the same way."""
    (result,) = worker.run(jobs.double, tensors=[tensor]).value
    assert torch.equal(result, 2 * tensor) and result.dtype == tensor.dtype


def test_worker_cannot_write_into_the_callers_tensors(worker: Worker) -> None:
    """What it gets are copies."""
    tensor = torch.zeros(5)
    worker.run(jobs.scribble, tensors=[tensor])
    assert not tensor.any()


def test_worker_has_the_callers_surroundings(worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directory, environment, default dtype and number of threads are those of the moment of the call."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLTM_INLINE_TEST", "yes")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    try:
        torch.set_num_threads(2)
        torch.set_default_dtype(torch.float64)
        found = worker.run(jobs.surroundings).value
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
    want = {"directory": str(tmp_path), "variable": "yes", "blas": None, "threads": 2, "dtype": "torch.float64"}
    assert found == want


def test_exceptions_come_back_as_themselves(worker: Worker) -> None:
    """Type, arguments and attributes survive, and a note has the worker's traceback."""
    with pytest.raises(KeyError, match="nothing") as caught:
        worker.run(jobs.fail, "nothing")
    assert "in the worker" in caught.value.__notes__[0] and "jobs.py" in caught.value.__notes__[0]
    with pytest.raises(jobs.PrivateError) as private:
        worker.run(jobs.fail, "private")
    assert private.value.args == ("mine", 3)
    with pytest.raises(BuildError, match="it does not compile") as build:
        worker.run(jobs.fail, "build")
    assert build.value.log == "the log" and build.value.kernel == "op/x"
    with pytest.raises(RuntimeError, match=r"Local: whose\?"):
        worker.run(jobs.fail, "local")


def test_a_failed_request_leaves_the_worker_alive(worker: Worker) -> None:
    """An exception is an answer like any other."""
    before = worker.run(os.getpid).value
    with pytest.raises(KeyError):
        worker.run(jobs.fail, "nothing")
    assert worker.run(os.getpid).value == before


def test_what_was_printed_comes_along(worker: Worker) -> None:
    """File descriptors 1 and 2, in the order in which they were written."""
    result = worker.run(jobs.speak, "hello")
    assert result.value == "spoken" and result.output == "hello\nto stderr\n"
    assert worker.run(jobs.add, 1, 1).output == ""


def test_warnings_are_the_callers(worker: Worker) -> None:
    """What the worker warns of is warned of here, with its category."""
    with pytest.warns(RuntimeWarning, match="mind the step"):
        worker.run(jobs.warn)


def test_events_arrive_in_order(worker: Worker) -> None:
    """What is told on the way comes before the answer, in its order."""
    seen: list[int] = []
    assert worker.run(jobs.tell_and_return, 100, on_event=lambda event: seen.append(event.values[0])).value == 100
    assert seen == list(range(100))


@pytest.mark.parametrize(
    ("how", "kind", "code"),
    [("SIGSEGV", "signal", 11), ("SIGKILL", "signal", 9), ("SIGSTOP", "stopped", 19), ("exit", "exit", 3)],
)
def test_death_is_noticed_at_once_by_its_own_name(worker: Worker, how: str, kind: str, code: int) -> None:
    """The fork server learns of the end from the system: no time-out is waited for, and the step is known."""
    worker.run(os.getpid)
    with pytest.raises(Died) as caught:
        worker.run(jobs.die, how, limits=Limits(seconds=600))
    assert (caught.value.ending.kind, caught.value.ending.code) == (kind, code)
    assert (caught.value.state.step, caught.value.state.case) == ("forward", "N=3")
    assert worker.run(jobs.add, 1, 1).value == 2


#: A fork server that imports, as one of the modules that only some checks need, one that kills the worker and waits for word.
IMPORTS = """
import os, signal, socket, sys
from lltm_inline.workers import forkserver
from lltm_inline.workers.black_box import BlackBox

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
requests, kept = socket.socketpair()
box = BlackBox.create()
socket.send_fds(ours, [b'{"fork": 1}'], [requests.fileno(), 2, box.fileno()])
server = forkserver.ForkServer(theirs)
server._to_import = ["kills"]
sys.path.insert(0, sys.argv[1])
server.run()
"""
KILLS = """
import __main__, json, os, signal

messages = [json.loads(__main__.ours.recv(1 << 12)) for _ in range(2)]
os.kill(messages[1]["pid"], signal.SIGKILL)
__main__.ours.settimeout(60)
print(json.loads(__main__.ours.recv(1 << 12)), flush=True)
__main__.ours.close()
"""


def test_death_is_noticed_while_the_server_imports(start: Callable[..., Any], tmp_path: Path) -> None:
    """The server imports what only some checks need beside its work, a second and more at a time: nobody waits for that."""
    (tmp_path / "kills.py").write_text(KILLS)
    lines = start(IMPORTS, str(tmp_path)).output().splitlines()
    assert len(lines) == 1 and ast.literal_eval(lines[0]).items() >= {"kind": "signal", "code": 9}.items(), lines


def test_next_call_after_a_crash_is_served_by_the_same_server(worker: Worker) -> None:
    """A new worker is forked from the server that is there; nobody waits for torch to be imported again."""
    worker.run(os.getpid)
    assert worker._server is not None
    server = worker._server.pid
    for _ in range(3):
        with pytest.raises(Died):
            worker.run(jobs.die, "SIGSEGV")
        assert worker.run(os.getppid).value == server


def test_time_limit_is_kept(worker: Worker) -> None:
    """A step that takes longer than its limit ends the worker, and no earlier."""
    started = time.monotonic()
    with pytest.raises(Died) as caught:
        worker.run(jobs.loop, limits=Limits(seconds=0.3))
    assert time.monotonic() - started >= 0.3
    assert caught.value.ending.kind == "timeout" and caught.value.busy is not None and caught.value.busy > 0.1


def test_who_is_asked_where_it_is_does_not_wait_for_its_own_output(worker: Worker) -> None:
    """What is printed is read also while the share of time is measured in which it computes."""

    class Counting(Watchdog):
        drained = 0

        def drain(self) -> None:
            self.drained += 1
            super().drain()

    worker.run(os.getpid)
    assert worker._idle is not None
    watchdog = Counting(worker._idle, Limits())
    before = watchdog.drained
    watchdog.where()
    assert watchdog.drained > before + 1


def test_output_limit_is_kept(worker: Worker) -> None:
    """Who prints without end is stopped; what was printed first and last is kept."""
    with pytest.raises(Died) as caught:
        worker.run(jobs.speak, "x" * 1000, 100_000, limits=Limits(output=2**20))
    assert caught.value.ending.kind == "output" and len(caught.value.output) < 2**17


def test_memory_limit_is_kept(worker: Worker) -> None:
    """A step may take so much and no more; the next one starts anew."""
    assert worker.run(jobs.hold, 2**20, limits=Limits(memory=2**26)).value == 2**20
    with pytest.raises(Died) as caught:
        worker.run(jobs.hold, 2**30, limits=Limits(memory=2**26))
    assert caught.value.ending.kind == "memory" and caught.value.ending.code == 2**26
    assert worker.run(jobs.hold, 2**27).value == 2**27


@pytest.mark.parametrize("seconds", [0.05, 60.0], ids=["return", "stay"])
def test_forked_processes_are_noticed_and_ended(worker: Worker, seconds: float) -> None:
    """A kernel that forks does not answer eight times, and none of its processes is left."""
    worker.run(os.getpid)
    assert worker._server is not None
    server = psutil.Process(worker._server.pid)
    with pytest.raises(Died) as caught:
        worker.run(jobs.fork, 3, seconds)
    assert caught.value.ending.kind == "processes" and caught.value.ending.code >= 1
    until(lambda: len([*filter(is_alive, server.children(recursive=True))]) <= 1)


@pytest.mark.parametrize("deaf", [False, True], ids=["listens", "deaf"])
def test_ctrl_c_stops_the_work_and_keeps_the_caller(worker: Worker, deaf: bool) -> None:
    """KeyboardInterrupt arrives also when the worker does not listen, and does not wait for it; the next call works."""
    worker.run(os.getpid)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        worker.run(jobs.loop, 600.0, deaf=deaf, limits=Limits(seconds=600))
    assert worker.run(jobs.add, 1, 1).value == 2


def test_a_process_that_a_kernel_left_does_not_hold_the_caller(worker: Worker) -> None:
    """A daemon keeps the worker's files open: a later death is noticed all the same, and the daemon is ended."""
    daemon = worker.run(jobs.daemonise).value
    with pytest.raises(Died) as caught:
        worker.run(jobs.die, "SIGSEGV", limits=Limits(seconds=600))
    assert caught.value.ending.kind == "signal" and gone(daemon)


def test_a_kernel_cannot_stop_the_clock(worker: Worker) -> None:
    """Zeros in the black box are no new step."""
    worker.run(os.getpid)
    with pytest.raises(Died) as caught:
        worker.run(jobs.blank_the_box, 0, limits=Limits(seconds=1.0))
    assert caught.value.ending.kind == "timeout"


@pytest.mark.parametrize("text", [b"hello\n", b"\xff" * 64])
def test_a_kernel_that_writes_into_files_of_others_is_cut_off(worker: Worker, text: bytes) -> None:
    """What arrives on the worker's line and is no message ends it, with a name."""
    with pytest.raises(Died) as caught:
        worker.run(jobs.babble, text)
    assert caught.value.ending.kind == "garbled"
    assert worker.run(jobs.add, 1, 1).value == 2


def test_a_kernel_that_closes_all_files_is_cut_off(worker: Worker) -> None:
    """The worker that cannot answer any more says so by its end, and it is not taken for the kernel's exit."""
    with pytest.raises(Died) as caught:
        worker.run(jobs.close_all)
    assert caught.value.ending.kind == "garbled"


def test_a_kernel_in_python_cannot_end_the_caller(worker: Worker) -> None:
    """SystemExit and KeyboardInterrupt are the kernel's own, not the caller's."""
    with pytest.raises(Died) as caught:
        worker.run(jobs.leave, 3)
    assert (caught.value.ending.kind, caught.value.ending.code) == ("exit", 3)
    with pytest.raises(RuntimeError, match="the kernel raised KeyboardInterrupt"):
        worker.run(jobs.press)


def test_a_worker_without_output_is_replaced(worker: Worker) -> None:
    """Who closes standard output and error is not asked again, and nobody spins meanwhile."""
    first = worker.run(os.getpid).value
    worker.run(jobs.be_silent)
    assert worker.run(jobs.speak, "hello").output and worker.pid != first


def test_late_output_is_not_the_next_kernels(worker: Worker) -> None:
    """What threads of an earlier request print is dropped."""
    worker.run(jobs.speak_later, 0.1)
    time.sleep(0.4)
    assert worker.run(jobs.add, 1, 1).output == ""


@pytest.mark.full
def test_many_open_files_are_no_obstacle() -> None:
    """File descriptors above 1023 work: `select` would fail for them."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit[0] < 1300:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1300, limit[1]))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    one = Worker()
    try:
        assert one.run(jobs.add, 1, 1).value == 2
    finally:
        one.stop()
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def test_crashes_leave_no_open_files(worker: Worker) -> None:
    """Neither file descriptors nor processes pile up."""
    worker.run(os.getpid)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with pytest.raises(Died):
            worker.run(jobs.die, "SIGKILL")
    worker.run(os.getpid)
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_large_inputs_do_not_count_as_memory_of_the_kernel(worker: Worker) -> None:
    """The limit is about what a step takes beyond what was there before, its inputs among that."""
    (result,) = worker.run(jobs.double, tensors=[torch.ones(2**24)], limits=Limits(memory=2**27)).value
    assert result.sum() == 2**25


def test_calls_from_two_threads_do_not_wait_for_each_other(worker: Worker) -> None:
    """Each gets a worker; one that dies takes nothing from the other."""
    seen: list[object] = []

    def crash() -> None:
        with pytest.raises(Died):
            worker.run(jobs.die, "SIGSEGV")
        seen.append("died")

    thread = threading.Thread(target=crash)
    thread.start()
    seen.append(worker.run(jobs.add, 1, 1).value)
    thread.join()
    assert sorted(map(str, seen)) == ["2", "died"]


@pytest.mark.full
def test_fork_server_killed_from_outside_is_replaced() -> None:
    """Whoever kills it ends its worker with it; the next call starts a new one, by itself."""
    one = Worker()
    try:
        first = one.run(os.getpid).value
        assert one._server is not None
        os.kill(one._server.pid, signal.SIGKILL)
        assert gone(first)
        assert one.run(os.getpid).value != first
    finally:
        one.stop()


def test_stop_leaves_no_process() -> None:
    """Stopping ends the worker and the server; a restart is another one."""
    one = Worker()
    assert repr(one) == "worker: not running" and one.pid is None
    pids = [one.run(os.getpid).value, one._server.pid if one._server else 0]
    assert one.memory > 2**20 and f"process {pids[0]}" in repr(one)
    one.restart()
    assert all(gone(pid) for pid in pids)
    assert one.run(os.getpid).value not in pids
    one.stop()
    assert one.pid is None


def test_a_renewed_worker_is_another_process(worker: Worker) -> None:
    """What a GPU fault has broken in a process is not met again."""
    first = worker.run(os.getpid).value
    worker.renew()
    assert worker.pid is None and worker.run(os.getpid).value != first


@pytest.mark.full
def test_a_copy_of_the_caller_has_a_worker_of_its_own(worker: Worker) -> None:
    """A process that was made by fork must not talk on its parent's sockets."""
    mine = one_that_stays(worker)
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child does nothing that needs other threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(worker.run(os.getpid).value).encode())
        finally:
            worker.stop()
            os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 100)) != mine
    assert worker.run(os.getpid).value == mine


def test_what_cannot_be_sent_is_said(worker: Worker) -> None:
    """A lock in a closure has no copy in another process; the cure is named, and the worker lives."""
    lock = threading.Lock()
    with pytest.raises(InputError, match=r"cannot be sent to the worker.*trust=True"):
        worker.run(lambda: lock.locked())
    assert worker.run(jobs.add, 1, 1).value == 2


def test_only_known_data_are_taken_from_a_worker(worker: Worker) -> None:
    """A pickle from the worker that would call something is refused, not obeyed."""
    with pytest.raises(Died) as caught:
        worker.run(jobs.smuggle)
    assert caught.value.ending.kind == "garbled"
    assert worker.run(jobs.add, 1, 1).value == 2


@pytest.mark.parametrize("name", ["eval", "exec", "getattr", "__import__", "print"])
def test_builtins_that_do_something_are_refused(name: str) -> None:
    """Only plain containers and exceptions are known by name."""
    with pytest.raises(pickle.UnpicklingError):
        safe_pickle.SafeUnpickler(io.BytesIO()).find_class("builtins", name)


def test_nonsense_on_the_line_is_refused() -> None:
    """A length that makes no sense, as damaged memory may send it, is not waited for."""
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b"\xff" * 64)
        reader = channel.Reader(here, trusted=False)
        assert reader.feed()
        with pytest.raises(pickle.UnpicklingError, match="makes no sense"):
            reader.message()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"seconds": 0}, r"Limits\(seconds=0\): want a positive number"),
        ({"memory": -1}, r"Limits\(memory=-1\)"),
        ({"output": "1 MiB"}, r"Limits\(output='1 MiB'\)"),
        ({"memory": float("inf")}, r"Limits\(memory=inf\)"),
        ({"seconds": True}, r"Limits\(seconds=True\)"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, object], message: str) -> None:
    """Each is an InputError with the name and the value."""
    with pytest.raises(InputError, match=message):
        Limits(**limits)  # type: ignore[arg-type]


def test_a_worker_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last words of its process are in the message."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(WorkerError, match="could not be started"):
        Worker().run(os.getpid)


def test_importing_the_package_starts_nothing() -> None:
    """The worker is started by the first call that needs it."""
    code = "import lltm_inline as li, psutil; print(li.worker, len(psutil.Process().children()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "worker: not running 0\n"
