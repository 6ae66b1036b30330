"""Whether this machine locks submissions in: the locks that it has, what stands around, and eleven attempts to get past them."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..compiling import cache
from ..doctor import PACKAGES, Diagnosis, Finding, packages_of_labs
from ..errors import InfraError
from . import enclosure, sandbox
from .inside import ESCAPES, ProbeTask
from .locked import Gone, Locked

_SECONDS, _OUTPUT = 20.0, 1 << 20
#: Of each lock what it means, what it means that there is none, and what brings it.
_LOCKS = {
    "namespaces": (
        "a user, a network and an IPC namespace of its own",
        "denied here; the other locks hold without",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    "Landlock": (
        "no file can be opened but the library itself",
        "this kernel has none: it takes Linux 5.13 or newer, with landlock in the list of lsm= it is started with",
        "",
    ),
    "seccomp": (
        "only the system calls that computing takes",
        "this kernel has no filters of system calls, or there is no libseccomp",
        "sudo apt install libseccomp2",
    ),
}
_BARE = "a submission can tell which processes there are, and reach none; the locks hold without"
_BUBBLE = "sudo apt install bubblewrap"
_UNGROUPED = {
    "memory": "what takes memory at once is ended 50 ms later",
    "pids": "threads are counted every 50 ms",
    "cpu": "one with many threads slows its neighbours down",
}
_SCOPE = "systemd-run --user --scope python -m lltm_inline lab grade ..."


@dataclass(frozen=True)
class Doctor(Diagnosis):
    """What `lab.doctor` found. It shows itself as a table."""

    @property
    def locked(self) -> bool:
        """Whether nothing got out: without that, `grade` takes no submission unless it is told to trust all of them."""
        return not self._open

    @property
    def _open(self) -> list[str]:
        return [one.what for one in self.findings if one.state == "missing" and one.what != PACKAGES]

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        if not self.locked:
            return f"Not locked: {', '.join(self._open)}. Submissions are not run here, unless trust=True (--trust) says so."
        return "Locked: a submission that runs here reaches no file, no network and no other process."


def doctor() -> Doctor:
    """Try to get out of the process in which submissions run, in eleven ways; takes a few seconds.

    Returns:
        A finding for what is to be installed, for each lock and for each attempt; `.locked` says whether all of them failed.

    Raises:
        InfraError: no such process can be started at all.

    Example:
        >>> len(doctor().findings)
        17
    """
    with tempfile.TemporaryDirectory() as directory, socket.create_server(("127.0.0.1", 0)) as listening:
        word = secrets.token_hex(16)
        file = Path(directory, "yours")
        file.write_text(word)
        port = listening.getsockname()[1]
        locks: tuple[str, ...] = ()
        findings = []
        for name in ESCAPES:
            task = ProbeTask(name, str(file), os.getpid(), port)
            with Locked(task, _OUTPUT) as process:
                try:
                    locks = tuple(process.receive(0, _SECONDS).text.split(", "))
                    process.ask("try")
                    answer = process.receive(1, _SECONDS)
                    out, how = not answer.raised, answer.text
                except Gone as gone:
                    out, how = False, gone.reason
            findings.append(Finding(name, "missing" if out else "ok", f"{'it can' if out else 'it cannot'}: {how}"))
        if file.read_text() != word:
            raise InfraError("an attempt to get out has changed a file of this process")
    return Doctor(
        (packages_of_labs("missing"), *(_lock(name, name in locks) for name in sandbox.LOCKS), *_around(), *findings)
    )


def _around() -> tuple[Finding, Finding]:
    """Say what stands around submissions, and what does not hold without it."""
    given = enclosure.controllers()
    groups, missing = ", ".join(given), [name for name in enclosure.CONTROLLERS if name not in given]
    if enclosure.bubblewrap(cache.cache_dir()):
        bubble = Finding("bubblewrap", "ok", "numbers of processes, a network and mounts of their own for all of them")
    else:
        what = "is denied here" if shutil.which("bwrap") else "is not installed"
        bubble = Finding("bubblewrap", "optional", f"{what}: {_BARE}", "" if "denied" in what else _BUBBLE)
    if not missing:
        return bubble, Finding("control groups", "ok", f"for each submission, with all that it starts: {groups}")
    cure = _SCOPE if Path("/run/systemd/system").is_dir() else ""
    lacks = ", and ".join(_UNGROUPED[name] for name in missing)
    return bubble, Finding("control groups", "optional", f"{groups or 'none'} of cgroup v2 here: {lacks}", cure)


def _lock(name: str, held: bool) -> Finding:
    means, lacks, cure = _LOCKS[name]
    if held:
        return Finding(name, "ok", means)
    return Finding(name, "missing" if name in sandbox.NEEDED else "optional", lacks, cure)
