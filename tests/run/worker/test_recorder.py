"""Each way to die leaves its evidence: real processes, real signals, and the line of the user's text."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lltm_inline import native
from lltm_inline.autopsy.symbolize import symbolize
from lltm_inline.compiling.compiler import run_jobs
from lltm_inline.compiling.job import helper_job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.native import layout
from lltm_inline.workers.black_box import Evidence, Region
from tests.needs import need
from tests.run.worker.dying import (
    INITIALISER,
    PREAMBLE,
    ROOT,
    TEXT,
    Child,
    Death,
    child,
    compile_library,
    line_of,
)

SEGV, FPE, ILL, ABRT = signal.SIGSEGV, signal.SIGFPE, signal.SIGILL, signal.SIGABRT


@pytest.fixture(scope="module")
def recorder() -> Path:
    """Build the recorder as the package does."""
    return run_jobs([helper_job("recorder", find_toolchain())], False)[0].path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the ways to die."""
    return compile_library(TEXT, tmp_path_factory.mktemp("dying") / "library.so")


def _die(recorder: Path, library: Path, function: str, finder: str = "") -> Death:
    with child(recorder, library, function, finder) as running:
        return running.end()


def _expect(evidence: Evidence | None, **fields: Any) -> Evidence:
    assert evidence is not None, "the recorder wrote nothing"
    assert {name: getattr(evidence, name) for name in fields} == fields
    return evidence


@pytest.mark.parametrize(
    ("function", "number", "fields"),
    [
        ("null_write", SEGV, {"address": 0, "write": True}),
        ("null_read", SEGV, {"address": 24, "write": False}),
        ("read_past", SEGV, {"write": False, "code": 2}),
        ("nonsense_write", SEGV, {"address": None, "write": None}),
        ("divide", FPE, {"address": None, "code": 1}),
        ("big_array", SEGV, {"write": True, "overflow": True}),
        ("aborts", ABRT, {"address": None, "message": ""}),
        ("frees_twice", ABRT, {"message": "free(): double free detected in tcache 2"}),
        ("crashes_in_threads", SEGV, {"address": 0, "write": True, "main_thread": False}),
        ("copies", SEGV, {"address": 0, "write": True}),
        ("calls_null", SEGV, {"address": 0, "write": None, "jump": True}),
        ("traps", ILL, {"address": None}),
        ("smashes_stack", SEGV, {}),
    ],
)
def test_signals(recorder: Path, library: Path, function: str, number: int, fields: dict[str, Any]) -> None:
    """A signal is recorded with what the processor knows of it, and the process really dies of it."""
    death = _die(recorder, library, function)
    assert death.code == -number and death.out == "loaded\n"
    defaults = {"main_thread": True, "overflow": False, "jump": False, "region": None, "exception": ""}
    _expect(death.evidence, **{**defaults, **fields}, kind="signal", signal=number)
    assert (death.places[0].file, death.places[0].line) == ("lltm/fused", line_of(function))


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="the C library keeps no message")
def test_assertion(recorder: Path, library: Path) -> None:
    """An assertion that fails is told in the words of the C library."""
    death = _die(recorder, library, "asserts")
    message = _expect(death.evidence, kind="signal", signal=ABRT).message
    assert death.code == -ABRT and message.endswith("Assertion `zero == 1' failed.") and message in death.err
    assert death.places[0].line == line_of("asserts")


def test_recursion_without_end(recorder: Path, library: Path) -> None:
    """A stack that ran full is recorded on another one, named as such, with the line that calls itself."""
    death = _die(recorder, library, "recurse")
    evidence = _expect(death.evidence, kind="signal", signal=SEGV, overflow=True, main_thread=True)
    assert death.code == -SEGV and len(evidence.frames) == 64
    assert {place.line for place in death.places[1:]} == {line_of("recurse")}
    assert "deeper" in death.places[0].function


@pytest.mark.parametrize(
    ("function", "exception", "message", "main_thread"),
    [
        ("throws_noexcept", "std::runtime_error", "thrown in noexcept", True),
        ("throws_number", "int", "42", True),
        ("throws_text", "char const*", "a text", True),
        ("throws_in_thread", "std::out_of_range", "thrown in a thread", False),
        ("forgets_join", "", "", True),
    ],
)
def test_terminate(
    recorder: Path, library: Path, function: str, exception: str, message: str, main_thread: bool
) -> None:
    """What nobody catches is recorded by type and text, with the line that threw; C++'s own words go out too."""
    death = _die(recorder, library, function)
    assert death.code == -ABRT and death.err.startswith("terminate called")
    fields = {"exception": exception, "message": message, "main_thread": main_thread}
    _expect(death.evidence, kind="terminate", signal=ABRT, **fields)
    assert death.places[0].line == line_of(function)


@pytest.mark.parametrize(
    ("function", "code", "status", "said"),
    [("exits", 0, 0, ""), ("exits_with_3", 3, 3, "its own end"), ("exits_quickly", 5, -1, "")],
)
def test_exit(recorder: Path, library: Path, function: str, code: int, status: int, said: str) -> None:
    """The end of the process by exit() has a line, too; quick_exit() does not tell its status.

    What the kernel has for the end of a process is done, and what was printed comes out; PyTorch, which takes long, is not
    taken down.
    """
    death = _die(recorder, library, function)
    assert death.code == code and death.out == f"loaded\n{said}"
    _expect(death.evidence, kind="exit", signal=0, status=status)
    assert death.places[0].line == line_of(function)


def test_nobody_hears_of_underscore_exit(recorder: Path, library: Path) -> None:
    """_exit() leaves no evidence, and no wrong one."""
    death = _die(recorder, library, "leaves")
    assert death.code == 3 and death.evidence is None


@pytest.mark.parametrize("function", ["child_crashes", "child_exits"])
def test_children_do_not_write(recorder: Path, library: Path, function: str) -> None:
    """A process that the kernel forks may die as it likes: the worker goes on, and its record is empty."""
    death = _die(recorder, library, function)
    assert death.code == 0 and death.out == "loaded\nwent on\n" and death.evidence is None


def test_crash_while_loading(recorder: Path, tmp_path: Path) -> None:
    """A static initialiser is named by its line, although its library is not loaded yet."""
    library = compile_library(INITIALISER, tmp_path / "initialiser.so")
    death = _die(recorder, library, "none")
    _expect(death.evidence, kind="signal", signal=SEGV, address=0)
    assert death.code == -SEGV and death.out == "" and death.places[0].line == line_of("initialiser", INITIALISER)


def test_what_was_printed_is_not_lost(recorder: Path, library: Path) -> None:
    """Text that C++ has printed comes out in spite of the crash, the half line at its end included."""
    death = _die(recorder, library, "prints")
    assert death.code == -SEGV and death.out == "loaded\nwhole line\nhalf a line"


def test_finder_names_the_tensor(recorder: Path, library: Path) -> None:
    """The finder is asked for the address; what it says is in the evidence, and its silence too."""
    evidence = _expect(_die(recorder, library, "null_read", "find").evidence, address=24)
    assert evidence.region == Region("weights", (24 - 48) % 2**64, 48, 8, (2, 3), "float64")
    assert _expect(_die(recorder, library, "null_read", "find_nothing").evidence, address=24).region is None


def test_crash_in_the_handler(recorder: Path, library: Path) -> None:
    """A fault while the crash is being recorded ends the process at once; the line is there already."""
    death = _die(recorder, library, "null_read", "find_and_crash")
    assert death.code == -SEGV
    _expect(death.evidence, kind="signal", address=24, region=None, write=False)
    assert [place.line for place in death.places] == [line_of("null_read")]


def _ask_until(running: Child, line: int, *, waiting: bool) -> Evidence:
    """Ask until it is at a line of the library; a busy machine takes its time to come there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        evidence = running.box.ask(running.process.pid, 10)
        assert evidence is not None and evidence.kind == "where" and evidence.signal == signal.SIGUSR1
        places = symbolize(evidence.frames, running.library)
        if places and places[0].line == line and evidence.waiting == waiting:
            return evidence
    raise AssertionError("it never came there")


@contextmanager
def _running(recorder: Path, library: Path, function: str) -> Iterator[Child]:
    with child(recorder, library, function) as running:
        assert running.process.stdout and running.process.stdout.readline() == "loaded\n"
        yield running


def test_endless_loop_is_asked_and_goes_on(recorder: Path, library: Path) -> None:
    """Asked where it is, a loop names its line, and shows that it works; and it is none the worse for it."""
    with _running(recorder, library, "loops") as running:
        first = _ask_until(running, line_of("loops"), waiting=False)
        assert first.main_thread and symbolize(first.frames, library)[0].function == "loops"
        deadline = time.monotonic() + 60
        while (again := running.box.ask(running.process.pid, 10)) and again.cpu < first.cpu + 0.05:
            assert time.monotonic() < deadline
        assert running.box.evidence() == again
        running.stop[0] = 1
        death = running.end()
    assert death.code == 0 and death.out == "went on\n" and death.beats == 2


def test_loop_with_nothing_in_it_is_known_as_one(recorder: Path, library: Path) -> None:
    """It becomes a jump to itself, which has the line of something else, or none at all; a loop that works is none."""
    with _running(recorder, library, "stands") as running:
        deadline = time.monotonic() + 60
        while not ((seen := running.box.ask(running.process.pid, 10)) and seen.still):
            assert time.monotonic() < deadline
        assert line_of("stands") not in [place.line for place in symbolize(seen.frames, library)]
    with _running(recorder, library, "loops") as running:
        assert not _ask_until(running, line_of("loops"), waiting=False).still


def test_deadlock_is_asked(recorder: Path, library: Path) -> None:
    """A thread that waits for a lock names the line, and that it waits; it uses no processor, and goes on waiting."""
    with _running(recorder, library, "waits") as running:
        first, started = _ask_until(running, line_of("waits"), waiting=True), time.monotonic()
        time.sleep(0.2)
        again = _ask_until(running, line_of("waits"), waiting=True)
        assert again.cpu - first.cpu < (time.monotonic() - started) / 2
        assert running.process.poll() is None


def test_signal_from_outside(recorder: Path, library: Path) -> None:
    """A signal that somebody has sent is told from a fault by its code."""
    with _running(recorder, library, "loops") as running:
        _ask_until(running, line_of("loops"), waiting=False)
        running.process.send_signal(signal.SIGSEGV)
        death = running.end()
    assert death.code == -SEGV
    evidence = _expect(death.evidence, kind="signal", address=None, write=None, overflow=False)
    assert evidence.code <= 0 and death.places[0].line == line_of("loops")


def test_a_stopped_process_gives_no_answer(recorder: Path, library: Path) -> None:
    """Whoever asks a stopped process waits no longer than he said, and one that is gone is an error."""
    with _running(recorder, library, "loops") as running:
        _ask_until(running, line_of("loops"), waiting=False)
        os.kill(running.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, running.process.pid, os.WSTOPPED | os.WNOWAIT)
        assert running.box.ask(running.process.pid, 0.05) is None
        running.process.kill()
        running.process.wait()
        with pytest.raises(ProcessLookupError):
            running.box.ask(running.process.pid)


def test_clang_builds_it_too(tmp_path: Path) -> None:
    """Recorder and kernel may come from clang, with the same evidence."""
    need("clang++")
    recorder = run_jobs([helper_job("recorder", find_toolchain("clang++"))], False)[0].path
    library = compile_library(TEXT, tmp_path / "library.so", "clang++")
    for function in ("null_write", "throws_noexcept", "exits"):
        death = _die(recorder, library, function)
        assert death.evidence and death.places[0].line in (
            line_of(function),
            line_of(function) + 1,
        )  # `}` of a noexcept


def test_no_core_is_dumped(recorder: Path, tmp_path: Path) -> None:
    """Whatever the limit is, the worker does not spend its last seconds on writing its memory to a disk."""
    code = f"""{PREAMBLE}
import ctypes, os, resource
from lltm_inline.workers.black_box import Recorder
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
if not (child := os.fork()):
    Recorder(sys.argv[2], BlackBox.create())
    ctypes.string_at(0)
_, status = os.waitpid(child, 0)
print(os.WTERMSIG(status), os.WCOREDUMP(status))
"""
    command = [sys.executable, "-c", code, ROOT, recorder]
    process = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert process.stdout.split() == [str(int(SEGV)), "False"] and not list(tmp_path.iterdir())


def test_it_is_installed_once_and_fits(recorder: Path) -> None:
    """A second installation is refused with a reason; the two sides agree on every byte of the record."""
    code = f"""{PREAMBLE}
from lltm_inline.workers.black_box import Recorder
box = BlackBox.create()
Recorder(sys.argv[2], box)
try:
    Recorder(sys.argv[2], box)
except RuntimeError as error:
    print(error)
"""
    process = subprocess.run([sys.executable, "-c", code, ROOT, recorder], capture_output=True, text=True, check=True)
    assert process.stdout == "the recorder could not be installed: it was installed before\n"
    size = ctypes.CDLL(str(recorder)).recorder_size
    size.restype = ctypes.c_uint64
    assert size() == ctypes.sizeof(layout.Records)


def test_the_kinds_have_the_same_numbers() -> None:
    """The ways to end that Python knows are those of the C++, in its order."""
    [names] = re.findall(r"enum Kind : int32_t \{(.*?)\}", native.text("recorder.cpp"), flags=re.DOTALL)
    assert [name.strip().removeprefix("k").lower() for name in names.split(",")] == ["nothing", *layout.KINDS[1:]]


def test_it_is_built_once_per_compiler() -> None:
    """The flags of the kernels do not matter to it; the compiler does."""
    toolchain = find_toolchain()
    other = dataclasses.replace(toolchain, cflags=("-O0",))
    assert helper_job("recorder", toolchain).key == helper_job("recorder", other).key
    if shutil.which("clang++"):
        assert helper_job("recorder", toolchain).key != helper_job("recorder", find_toolchain("clang++")).key


def test_evidence_can_be_read_again(recorder: Path, library: Path) -> None:
    """The evidence and the last step stay in the box after a death, for whoever reads them later."""
    with child(recorder, library, "null_write") as running:
        death = running.end()
        assert running.box.evidence() == death.evidence and running.box.read().step == "forward"
