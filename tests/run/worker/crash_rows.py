"""Runs a row of the table of crashes and tells what was said of it, in the tests and in the notebook alike."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import torch

import lltm_inline as li
from lltm_inline.autopsy.crash import Crash
from lltm_inline.errors import CrashError
from tests.planted.crashes import GOOD, ROWS, Row, register
from tests.stopping import is_alive

_HAPPENS = re.compile(r"it happens at (\d+\.\d+)")
_DAMAGED_HEAP = re.compile(
    r"SIGABRT: (double free or corruption \((out|!prev)\)"
    r"|(free|munmap_chunk|malloc|realloc)\(\): (invalid|corrupted|unaligned|mismatching) [\w ]*\w(?: \(\w+\))?"
    r"|corrupted size vs\. prev_size[\w ]*)"
)
#: For the kernel to begin, on a busy machine.
_PATIENCE = 60.0
SIZE = 19
_GIVEN = f"x ({SIZE},) float32"


@dataclass(frozen=True)
class Told:
    """What was said of a row.

    Attributes:
        said: `"crash"`, `"finding"`, or the type of an exception that is none of a crash.
        what: what happened, in a line.
        detail: what the kernel was doing, or the notes of an exception.
        cause: the likely cause.
        text: all that a user reads.
        step, place, tensor, smallest, case, inputs: of the crash.
        noticed: seconds from when it happened, or from the limit of a time-out, until the caller knew.
    """

    said: str
    what: str
    detail: str = ""
    cause: str = ""
    text: str = ""
    step: str = ""
    place: str = ""
    tensor: str = ""
    smallest: str = ""
    case: str = ""
    inputs: tuple[str, ...] = ()
    noticed: float | None = None

    @property
    def line(self) -> str:
        """All of it in one line, without what differs from run to run."""
        number = self.place.rpartition(":")[2]
        step = " while it was loaded" if self.step == "load" else f" in {self.step}" if self.step else ""
        where = f"{step}{f', line {number}' if number else ''}"
        note = "" if self.step or self.said == "finding" else " with the note"
        detail = f"{note}: {self.detail}" if self.detail else ""
        if self.smallest and not self.smallest.startswith("N=1,"):  # that is any size: not worth a word
            detail += f" (smallest failing size: {self.smallest})"
        cause = f". Likely cause: {self.cause}" if self.cause else ""
        return _steady(f"**{self.what}**{where}{detail}{cause}")


def _steady(text: str) -> str:
    text = re.sub(r" \(\d+% of the time busy\)", "", text)
    text = text.replace("lll_lock_wait()", "pthread_mutex_lock()")  # some C libraries name what lies below it
    text = re.sub(r"it left \d+ child process(es)?", "it left child processes", text)  # some have ended by then
    text = re.sub(r"0x[0-9a-f]{5,}", "0x...", text)
    # Which of its checks the C library makes first depends on what else lies in the heap.
    text = re.sub(_DAMAGED_HEAP, "SIGABRT: the C library says that its heap is damaged", text)
    # The end of the stack is met where a function is entered or by one of the lines that it computes.
    text = re.sub(
        r"line (37|40): its stack is full of calls of deep", "line 39: its stack is full of calls of deep", text
    )
    return " ".join(text.split())


def build_all() -> None:
    """Build every kernel of the table at once, several compilers beside each other."""
    register()
    li.build([GOOD, *(row.kernel for row in ROWS.values())], progress=False)


def perform(row: Row) -> Told:
    """Do what a user would do with the kernel, and tell what came of it."""
    sent: list[float] = []
    sender = threading.Thread(target=_send, args=(row.signal, sent))
    # A shell may have started this process deaf to Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    if row.signal:
        sender.start()
    try:
        told, output = _TRY[row.verb](row)
    finally:
        now = time.monotonic()
        if row.signal:
            sender.join()
        signal.signal(signal.SIGINT, before)
    times = [*map(float, _HAPPENS.findall(output)), *sent]
    return replace(told, noticed=now - times[-1] - row.limit if times else None)


def _call(row: Row) -> tuple[Told, str]:
    register()
    try:
        for _ in range(row.calls):
            li.call(row.kernel, torch.arange(float(SIZE)), limits=row.limits)
    except CrashError as error:
        return _of_crash(error.crash)
    except (Exception, KeyboardInterrupt) as error:  # what the kernel throws comes back as whatever it is
        notes = [note for note in getattr(error, "__notes__", []) if "Traceback" not in note]
        kind, text = type(error).__name__, str(error)
        told = Told(kind, f"{kind}: {text}" if text else kind, "; ".join(notes), text="\n".join([text, *notes]))
        return told, getattr(error, "output", "")
    return Told("nothing", "it came back"), ""


def _check(row: Row) -> tuple[Told, str]:
    register()
    report = li.check(row.kernel, progress=False, limits=row.limits)
    if report.crash is not None:
        return _of_crash(report.crash)
    fitting = [finding for finding in report.findings if all(words in finding.text for words in row.what)]
    told = [Told("finding", finding.text, f"at {finding.case}") for finding in fitting[:1] or report.findings]
    return told[0] if told else Told("nothing", "all is right"), ""


def _load(row: Row) -> tuple[Told, str]:
    register()
    try:
        li.load(row.kernel, progress=False)
    except CrashError as error:
        return _of_crash(error.crash)
    return Told("nothing", "it was loaded"), ""


_TRY = {"call": _call, "check": _check, "load": _load}


def _of_crash(crash: Crash) -> tuple[Told, str]:
    # Whether forward or backward meets the damage first depends on what else lies in the heap.
    step, detail = crash.step, crash.detail
    if re.search(_DAMAGED_HEAP, crash.what) and step == "backward":
        step, detail = "forward", detail.replace(" guard pages, in forward, ", " guard pages, ")
    told = Told("crash", crash.what, detail, crash.cause, f"{crash}", step, crash.place, crash.tensor)
    return replace(told, smallest=crash.smallest, case=crash.case, inputs=crash.inputs), crash.output


def _send(name: str, sent: list[float]) -> None:
    """Send a signal as soon as the kernel runs: to the worker, or Ctrl-C to this process."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        pid = li.worker.pid
        if pid is not None and _is_running(pid):
            sent.append(time.monotonic())
            os.kill(os.getpid() if name == "SIGINT" else pid, getattr(signal, name))
            return
        time.sleep(0.002)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "it-happens"
    except OSError:
        return False


def problems(row: Row, told: Told) -> list[str]:
    """List in what way the words about a row are not true, or came too late."""
    found = []
    if told.said != row.said:
        found.append(f"said {told.said}, want {row.said}")
    seen = f"{told.what}; {told.detail}"
    found += [f"{words!r} is not in {seen!r}" for words in row.what if words not in seen]
    if row.cause and not any(words in told.cause for words in row.cause):
        found.append(f"none of {row.cause} is in {told.cause!r}")
    if row.said == "crash":
        found += _problems_of_place(row, told)
    elif row.said == "RuntimeError" and f"kernel '{row.kernel.label}' in forward at {_GIVEN}" not in told.text:
        found.append(f"kernel, step and inputs are not in {told.text!r}")
    return found


def _problems_of_place(row: Row, told: Told) -> list[str]:
    """Compare what is said of kernel, step, inputs, line, tensor and size."""
    found = []
    if told.step != row.step:
        found.append(f"step is {told.step!r}, want {row.step!r}")
    if row.step != "load":  # what a static initialiser does has neither
        given = [_GIVEN] if row.verb == "call" else [f"x {told.inputs[0][2:]}" if told.inputs else "inputs", told.case]
        found += [f"{words!r} is not in {told.text!r}" for words in given if not words or words not in told.text]
    if repr(row.kernel.label) not in told.text:
        found.append(f"{row.kernel.label} is not in {told.text!r}")
    if row.lines and told.place not in [f"{row.kernel.label}:{line}" for line in row.lines]:
        found.append(f"place is {told.place!r}, want a line of {row.lines}")
    if row.tensor and told.tensor != row.tensor:
        found.append(f"tensor is {told.tensor!r}, want {row.tensor!r}")
    if row.comes_again and not told.smallest:
        found.append("no smallest size")
    if row.smallest and told.smallest != row.smallest:
        found.append(f"smallest size is {told.smallest!r}, want {row.smallest!r}")
    return found


def next_call_is_right() -> bool:
    """Call the good kernel, and compare with the reference."""
    x = torch.arange(float(SIZE))
    return torch.equal(li.call(GOOD, x), 2 * x)


def wait_for_kernel(pid: int) -> list[psutil.Process]:
    """Wait until a kernel runs in a worker of this process; list all processes that it has started."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        family = psutil.Process(pid).children(recursive=True)
        if any(name_of(process) == "it-happens" for process in family):
            return family
        time.sleep(0.02)
    raise AssertionError(f"no kernel has begun in any of {family}")


def name_of(process: psutil.Process) -> str:
    """Return the name that the kernel gives its process, or nothing for one that has ended."""
    try:
        return str(process.name())
    except psutil.Error:
        return ""


def wait_until_gone(family: list[psutil.Process]) -> float:
    """Return how long it takes until all of them have ended; those that have not are killed."""
    started = time.monotonic()
    while (left := [process for process in family if is_alive(process)]) and time.monotonic() - started < 60:
        time.sleep(0.01)
    for process in left:
        process.kill()
    assert not left, left
    return time.monotonic() - started
