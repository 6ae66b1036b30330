"""What stands around submissions where the machine has it, and that they are held without it."""

from __future__ import annotations

import mmap
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest

from lltm_inline.errors import InfraError
from lltm_inline.lab import enclosure, locked
from lltm_inline.lab.doctor import doctor
from lltm_inline.lab.inside import DONE, answer, receive
from lltm_inline.lab.locked import Gone, Locked
from tests.needs import need, needs
from tests.stopping import gone

pytestmark = needs("Landlock and seccomp")
GROUPS = "the right to make control groups"  # asked for in the tests: who only collects them makes none


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no server of an earlier test serve here."""
    monkeypatch.setattr(locked, "_servers", {})
    yield
    for server in locked._servers.values():
        server.stop()


@dataclass(frozen=True)
class Pids:
    """Says which numbers of processes it sees, and its own."""

    memory: int = 1 << 28

    def run(self, link: socket.socket, reader: Any, box: int) -> None:
        """Look around, before any lock."""
        answer(link, 0, DONE, " ".join([str(os.getpid()), *filter(str.isdigit, os.listdir("/proc"))]))
        receive(reader)


@needs("bwrap", "the right to use bubblewrap")
def test_no_process_of_yours_has_a_number_there(own_server: None, tmp_path: Path) -> None:
    """Each process has another number there, and the judge still stops and ends the right one."""
    with Locked(Pids(), 1 << 20) as process:
        own, *seen = map(int, process.receive(0, 30).text.split())
        assert process.pid != own and os.getpid() not in seen and len(seen) < 6
        process.halt()
        assert psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
        process.go_on()
    assert gone(process.pid)
    server = psutil.Process(process.server.pid)
    assert server.ppid() != os.getpid() and psutil.Process(process.server._process.pid).ppid() == os.getpid()


@needs("bwrap", "the right to use bubblewrap")
def test_a_server_that_is_killed_takes_all_along(own_server: None) -> None:
    """Nothing stays behind it, and the next one serves."""
    with Locked(Pids(), 1 << 20) as process:
        process.receive(0, 30)
        os.kill(process.server.pid, signal.SIGKILL)
        with pytest.raises(InfraError, match="the process that runs submissions has ended"):
            process.receive(1, 60)
        assert gone(process.pid)
    with Locked(Pids(), 1 << 20) as process:
        assert process.receive(0, 30).text


@pytest.mark.parametrize("bare", [False, True], ids=["as it is", "without bubblewrap"])
def test_nothing_gets_out(bare: bool, own_server: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The locks hold by themselves, and what does not is said."""
    if bare:
        monkeypatch.setattr(enclosure, "bubblewrap", lambda cache: ())
    found = doctor()
    around = {one.what: one for one in found.findings}["bubblewrap"]
    assert found.locked and around.state in (("optional",) if bare else ("ok", "optional"))
    if around.state == "optional":
        assert "a submission can tell which processes there are, and reach none" in around.detail


@pytest.mark.parametrize("kind", ["memory", "threads", "children"])
def test_a_group_holds_all_that_a_process_starts(kind: str) -> None:
    """Memory that no limit of a process counts, threads, and children that are left behind."""
    need(GROUPS)
    acts: dict[str, Callable[[], None]] = {"memory": _share, "threads": _many_threads, "children": _leave_children}
    waiting, go = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(go)
        os.read(waiting, 1)
        status = 3
        try:
            acts[kind]()
            status = 0
        finally:
            os._exit(status)
    os.close(waiting)
    group = enclosure.Group(pid, 64 << 20, 20)
    os.close(go)
    _, status = os.waitpid(pid, 0)
    assert (os.waitstatus_to_exitcode(status), group.overran) == {
        "memory": (-signal.SIGKILL, True), "threads": (3, False), "children": (0, False),
    }[kind]  # fmt: skip
    left = [] if group._path is None else (group._path / "cgroup.procs").read_text().split()
    assert len(left) == (3 if kind == "children" else 0)
    group.close()
    assert all(map(gone, map(int, left)))


def _share() -> None:
    memory = mmap.mmap(-1, 1 << 30)
    for place in range(0, len(memory), mmap.PAGESIZE):
        memory[place] = 1


def _many_threads() -> None:
    for _ in range(40):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()


def _leave_children() -> None:
    for _ in range(3):
        if os.fork() == 0:
            time.sleep(1000)


@dataclass(frozen=True)
class Shares:
    """Takes memory that is shared, without a lock."""

    memory: int = 64 << 20

    def run(self, link: socket.socket, reader: Any, box: int) -> None:
        """Take it."""
        answer(link, 0, DONE, "")
        receive(reader)
        _share()


def test_memory_is_the_texts_own_fault(own_server: None) -> None:
    """What the system ends for its memory has not been ended by somebody else."""
    need(GROUPS)
    with Locked(Shares(), 1 << 20) as process:
        process.receive(0, 30)
        process.ask("go on")
        reason = ""
        try:
            process.receive(1, 60)
        except Gone as gone:
            reason = gone.reason
        assert reason == "takes more than 64 MiB of memory"


def test_what_there_is_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both stand in what doctor finds, with what does not hold without them and a cure where there is one."""
    monkeypatch.setattr(enclosure, "controllers", lambda: ("pids",))
    monkeypatch.setattr(import_module("lltm_inline.lab.doctor"), "ESCAPES", {})
    found = {one.what: one for one in doctor().findings}["control groups"]
    assert found.state == "optional" and bool(found.cure) == Path("/run/systemd/system").is_dir()
    assert found.detail == (
        "pids of cgroup v2 here: what takes memory at once is ended 50 ms later, "
        "and one with many threads slows its neighbours down"
    )


@needs("bwrap", "the right to use bubblewrap")
def test_a_cache_below_the_root() -> None:
    """What contains it is everything: that stays as it is."""
    assert enclosure.bubblewrap(Path("/nowhere")) == ()
    assert enclosure.bubblewrap(Path("/tmp"))[-2:] == ("/tmp", "/tmp")
