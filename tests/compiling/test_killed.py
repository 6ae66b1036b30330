"""Builds that are killed, crowded, endless or robbed of their cache: nothing hangs, nothing wrong is loaded.

Most of it runs in children of one process that has imported torch and has one thread: a fork takes milliseconds, where a
Python with torch takes seconds to start.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import psutil
import pytest
from torch.utils import cpp_extension

from lltm_inline.compiling import cache, compiler
from lltm_inline.compiling.compiler import build, run_jobs, verify
from lltm_inline.compiling.job import Job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.compiling.watch import compilers_in
from lltm_inline.errors import BuildError, CacheError
from tests.tiny import STABLE, answer, entries

#: What the children have in common: jobs whose text needs no header, so that a build takes a tenth of a second.
FORKS = """
import ctypes, json, os, random, shutil, signal, sys, time, warnings
os.environ.update(OPENBLAS_NUM_THREADS="1", LLTM_INLINE_NO_HEADER="1")
import torch, torch.utils.cpp_extension
from lltm_inline.compiling import cache
from lltm_inline.compiling.compiler import build, run_jobs
from lltm_inline.compiling.job import Job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.compiling.watch import compilers_in
from lltm_inline.errors import BuildError, CacheError
from lltm_inline.compiling.compiler import verify
from tests import tiny

tools = find_toolchain(None, ["-O0"])
ROOT = os.environ["LLTM_INLINE_CACHE"]
TEXT = 'extern "C" __attribute__((visibility("default"))) int answer() { return %d; }'

def job(number):
    return Job("tiny/forked", TEXT % number, None, {}, tools)

def answer(number):
    found = run_jobs([job(number)], False)[0]
    verify(found)
    return ctypes.CDLL(str(found.path)).answer()

def fork(function):
    assert len(os.listdir("/proc/self/task")) == 1, "only a process of one thread can be forked"
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        os._exit(0 if function() in (None, True) else 3)
    except BaseException as error:
        print(type(error).__name__, error, flush=True)
        os._exit(4)

def ended(child, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    return False

def good(number):
    started = time.monotonic()
    child = fork(lambda: answer(number) == number)
    deadline = started + 60
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status), time.monotonic() - started
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    return "hangs", 60.0

def at_event(number, act):
    # The audit events are the moments at which a build opens, renames, removes or starts something.
    left = [number]
    def hook(event, arguments):
        left[0] -= 1
        if left[0] == 0:
            act()
    sys.addaudithook(hook)
"""

KILLED = (
    FORKS
    + """
draw = random.Random(4)
assert good(1000)[0] == 0
usual = good(1001)[1]
rounds = []
for number in range(50):
    if number % 2:  # from inside, before one of the forty events of a build; the compilers live on
        event = draw.randrange(1, 41)
        def victim():
            at_event(event, lambda: os.kill(os.getpid(), signal.SIGKILL))
            answer(number)
        ended(fork(victim))
    else:  # from outside, at any moment; in half of the rounds with its compilers
        child = fork(lambda: answer(number) == number)
        time.sleep(draw.uniform(0, usual))
        try:
            (os.killpg if number % 4 else os.kill)(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        ended(child)
    status, seconds = good(number)
    rounds.append([status, seconds, os.listdir(f"{ROOT}/tmp")])
time.sleep(0.2)
rounds.append([good(1002)[0], 0, os.listdir(f"{ROOT}/tmp")])
print(json.dumps({"rounds": rounds, "usual": usual, "orphans": len(list(compilers_in(ROOT)))}))
"""
)


@pytest.mark.full
def test_killed_at_fifty_moments(start: Any, fresh_cache: Path) -> None:
    """Fifty builds are killed at random moments; the good build after each has the right answer, and leaves nothing."""
    output = start(KILLED).output(120)
    found = json.loads(output.splitlines()[-1])
    assert [status for status, _, _ in found["rounds"]] == [0] * 51, output
    # A compiler that is just dying may still write while the next build sweeps: then the one after does.
    left = [set(names) for _, _, names in found["rounds"]]
    assert not any(now & later for now, later in itertools.pairwise(left)), "what a killed build left is swept soon"
    assert not left[-1], "nothing is left in the end"
    assert found["orphans"] == 0
    for entry in cache.entries():
        manifest = cache.read_manifest(entry.key)
        assert manifest and cache.hash_file(entry.path / cache.LIBRARY) == manifest["sha256"]


CROWD = (
    FORKS
    + """
tiny.register()
tiny.without_bridge()
start = time.time() + 0.5
def one():
    time.sleep(max(0, start - time.time()))
    found = build(tiny.kernel(3), progress=False)
    verify(found)
    torch.ops.load_library(str(found.path))
    right = getattr(torch.ops, found.namespace).forward(torch.arange(5.0)).tolist() == [0, 3, 6, 9, 12]
    os._exit(10 + found.cached if right else 1)
children = [fork(one) for _ in range(32)]
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(json.dumps(codes))
"""
)


@pytest.mark.full
def test_thirty_two_at_once(start: Any, fresh_cache: Path, watched: Any) -> None:
    """32 processes ask for one kernel at once: the compiler runs once, and 32 have the right answer."""
    codes = json.loads(start(CROWD).output(120).splitlines()[-1])
    assert sorted(codes) == [10] + [11] * 31, "one built it, 31 found it in the cache"
    assert watched.compilations == 1
    assert not list((fresh_cache / "tmp").iterdir())


REMOVED = (
    FORKS
    + """
warnings.simplefilter("ignore", RuntimeWarning)  # that a library is not what was built is said, and is no matter here
def robbed(number):
    at_event(number, lambda: shutil.rmtree(ROOT, ignore_errors=True))
    try:
        return answer(number) == number
    except CacheError as error:
        if " was removed while " not in str(error) and "was changed or removed" not in str(error):
            print("unclear:", error)
for number in range(1, 41, 2):
    child = fork(lambda: robbed(number))
    if not ended(child):
        print("hangs at event", number)
    status, _ = good(number)
    if status:
        print("no good build behind event", number, status)
print("done")
"""
)


@pytest.mark.full
def test_cache_removed_at_any_moment(start: Any, fresh_cache: Path) -> None:
    """The cache is removed before every other one of the forty events of a build: it works or says so, and the next build works."""
    assert start(REMOVED).output(120).splitlines() == ["done"]
    assert fresh_cache.stat().st_mode & 0o777 == 0o700


def test_cache_removed_while_the_compiler_runs(tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """The compiler finds its directory gone: the error says that, no lock is left, and the next build works."""
    honest = watched.path.read_text()
    watched.path.write_text(
        honest.replace("#!/bin/sh\n", f'#!/bin/sh\ncase " $* " in *" -c "*) rm -rf {fresh_cache};; esac\n')
    )
    find_toolchain()
    with pytest.raises(
        CacheError,
        match=rf"the cache directory {fresh_cache} was removed while 'tiny/stable' was being built. Build it again",
    ):
        build(tiny(), progress=False)
    watched.path.write_text(honest)
    assert not build(tiny(), progress=False).cached
    assert build(tiny(), progress=False).cached


def test_cache_that_torch_makes_again_is_closed_at_once(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`load_inline` makes a directory again that was removed, as the umask says; no other build finds the cache open to others."""
    write, run, modes = cpp_extension._write_ninja_file_and_build_library, subprocess.run, []

    def remove_and_write(*given: Any, **named: Any) -> Any:
        shutil.rmtree(fresh_cache)
        return write(*given, **named)

    def run_and_look(command: Any, *given: Any, **named: Any) -> Any:
        if command[0] == "ninja" and "cwd" in named:  # else torch asks for its version
            modes.append(fresh_cache.stat().st_mode & 0o777)
        return run(command, *given, **named)

    job = Job("answer", answer(1), None, {}, find_toolchain())  # one alone: each removes the cache
    with monkeypatch.context() as patch:
        patch.setattr(cpp_extension, "_write_ninja_file_and_build_library", remove_and_write)
        patch.setattr(subprocess, "run", run_and_look)
        with pytest.raises(CacheError, match="was removed while"):
            run_jobs([job])
    assert modes == [0o700]
    assert [found.cached for found in run_jobs([job])] == [False]


@pytest.mark.full
def test_cache_removed_between_build_and_load(tiny: Any, fresh_cache: Path) -> None:
    """A library that is gone when it is to be loaded is called that, and built again when it is asked for again."""
    found = build(tiny(), progress=False)
    shutil.rmtree(fresh_cache)
    with pytest.raises(CacheError, match=r"was changed or removed after it was built .* Build it again"):
        verify(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = build(tiny(), progress=False)
    assert not again.cached and again.digest == found.digest
    verify(again)


@pytest.mark.full
def test_orphans_of_a_killed_build_are_ended(tiny: Any, fresh_cache: Path, watched: Any, start: Any) -> None:
    """A compiler that outlives its killed build is ended by the next build, whichever kernel that is of."""
    watched.slow()
    script = start(
        "import lltm_inline as li\nfrom tests import tiny\n"
        "tiny.register()\ntiny.without_bridge()\nli.build(tiny.kernel(2), progress=False)\n"
    )
    deadline = time.monotonic() + 60
    while not (orphans := script.compilers("endless.cpp")) and time.monotonic() < deadline:
        time.sleep(0.05)
    script.process.kill()
    script.process.wait()
    assert len(orphans) == 1 and orphans[0].is_running()
    watched.honest()
    assert not build(tiny(3), progress=False).cached
    _, alive = psutil.wait_procs(orphans, timeout=10)
    assert not alive and not list((fresh_cache / "tmp").iterdir())


#: Instantiates a new template for each number that it was asked for, and asks for two more: 2 to the power of 60 of them.
EATER = """
template <unsigned long N, unsigned long M> struct Tree {
  static constexpr unsigned long value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value;
};
template <unsigned long M> struct Tree<0, M> { static constexpr unsigned long value = M; };
unsigned long value = Tree<60, 1>::value;
"""


def plain(text: str, label: str = "tiny/endless") -> Job:
    """Make a job of a text without headers."""
    return Job(label, text, None, {label: text}, find_toolchain(None, ["-O0"]))


def test_endless_compilation(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that compiles for ever is stopped at the limit, its compilers too; it is not remembered, and others are built."""
    monkeypatch.setattr(compiler, "BUILD_SECONDS", 3.0)
    with pytest.raises(
        BuildError, match=r"'tiny/endless' was still being compiled after 3 s, and was stopped. Likely cause: templates"
    ):  # in which the other is built on a busy machine, too
        run_jobs([plain(EATER), plain("int good;", "tiny/good")], False)
    assert [entry.what for entry in cache.entries()] == ["tiny/good"]
    assert not list(compilers_in(fresh_cache)) and not list((fresh_cache / "tmp").iterdir())


def test_compilation_that_eats_memory(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that takes its compiler more memory than the limit is stopped and called that."""
    monkeypatch.setattr(compiler, "BUILD_BYTES", 300 * 2**20)
    with pytest.raises(
        BuildError, match=r"'tiny/endless' took its compiler more than 0.29 GiB of memory, and was stopped"
    ):
        run_jobs([plain(EATER)], False)
    assert cache.entries() == [] and not list(compilers_in(fresh_cache))


def test_limit_holds_while_another_kernel_is_waited_for(
    tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is of the compilation: a wait for somebody else's lock does not count."""
    monkeypatch.setattr(compiler, "BUILD_SECONDS", 1.0)
    job = plain("int waited;", "tiny/waits")
    with cache.lock(job.key):
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.extend(run_jobs([job], False)))
        thread.start()
        time.sleep(1.7)
        assert thread.is_alive() and not found
    thread.join(60)
    assert len(found) == 1 and not found[0].cached


@pytest.mark.parametrize(
    ("path", "kind", "form"),
    [
        ("/dev/zero", "a device", '#include "{}"'),
        ("/dev/tty", "a device", " # include <{}>  // the terminal"),
        ("../" * 20 + "dev/zero", "a device", '#include "{}"'),
        ("PIPE", "a named pipe", '#include "$WHERE"'),
        ("DIRECTORY", "a directory", "#include <{}>"),
    ],
)
def test_includes_of_what_is_no_file(
    path: str, kind: str, form: str, tiny: Any, fresh_cache: Path, watched: Any, tmp_path: Path
) -> None:
    """A device, a pipe or a directory as a header is refused at its line, before a compiler reads from it without end."""
    if path == "PIPE":
        os.mkfifo(path := str(tmp_path / "pipe"))
    elif path == "DIRECTORY":
        path = str(tmp_path)
    slots = {"WHERE": path} if "$" in form else {}
    kernel = tiny(text=f"// {STABLE.splitlines()[0]}\n{form.format(path)}\n{STABLE}", slots=slots)
    with pytest.raises(BuildError) as error:
        build(kernel, progress=False)
    assert f"'tiny/stable' includes what is no file; nothing was compiled\n  tiny/stable:2: {path!r} is {kind}" in str(
        error.value
    )
    assert error.value.diagnostics[0].line == 2 and watched.compilations == 0 and entries() == []
