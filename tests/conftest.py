"""What the tests share: a cache of their own, a throwaway op, compilers that are watched, and plain `load_inline`."""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import settings

from lltm_inline import native
from lltm_inline.base.device import CHECKS, COUNTS
from lltm_inline.compiling import header
from lltm_inline.compiling.toolchain import Toolchain, find_toolchain
from lltm_inline.errors import ToolchainError
from tests import tiny as tiny_module
from tests.quick import QUICK

#: What may be skipped, what of a run's tests is left to other runs, and what planted errors fell in it.
pytest_plugins = ("tests.needs", "tests.turns", "tests.falling")

ROOT = Path(__file__).resolve().parents[1]

#: The compilers of nearly all tests.
USUAL = {QUICK, shutil.which("g++"), shutil.which("clang++")}
#: Has a text for `cuda-cpu` change stacks as it does where nothing faster is known.
UCONTEXT = "-DCUDA_CPU_UCONTEXT"

#: Names a cache that outlives the run, for one that goes on where another has ended. Without it a run begins with none.
KEPT_CACHE = "LLTM_INLINE_TEST_CACHE"

#: A header-free text that keeps g++ busy for half a minute, longer than any test waits.
HEAVY = """
template <unsigned K>
constexpr unsigned spin() {
  unsigned x = K;
  for (unsigned i = 0; i < 200000; ++i) x = x * 1664525u + 1013904223u;
  return x;
}
template <unsigned K> struct All { static constexpr unsigned value = spin<K>() + All<K - 1>::value; };
template <> struct All<0> { static constexpr unsigned value = 0; };
unsigned heavy = All<100>::value;
"""


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c() -> None:
    """Have Ctrl-C and Ctrl-\\ arrive also where a shell has started the tests in the background, and so told them to ignore both."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGQUIT) == signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)


#: No example has a time limit: the machine may be busy.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")

#: All tests that were collected, those too that a mark or a word leaves out.
COLLECTED = pytest.StashKey[list[pytest.Item]]()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while modules are imported, of which there is hardly any, and never go through them again.

    Nor for any when a process of the run ends, which takes a second otherwise.
    """
    atexit.register(gc.freeze)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the list, for the test that holds it against what must fall; docstrings' examples leave no op behind.

    They compile quickly, but for those that look at what a compiler has made.
    """
    config.stash[COLLECTED] = list(items)
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            run = item.runtest if "analysis" in item.path.parts else compiling_quickly()(item.runtest)
            item.runtest = tiny_module.registry_as_before()(run)  # type: ignore[method-assign]


def pytest_configure(config: pytest.Config) -> None:
    """Give the whole run one cache, that of all its workers, so that each text is compiled once; and keep ccache out."""
    if hasattr(config, "workerinput"):
        return  # a worker has its environment from the process that started it
    kept = os.environ.get(KEPT_CACHE)
    if kept:
        forget_what_was_said(Path(kept))
    os.environ["LLTM_INLINE_CACHE"] = kept or tempfile.mkdtemp(prefix="lltm_inline-tests-")
    os.environ["CCACHE_DISABLE"] = "1"
    # Several workers share the cores: a thread that waits for another must not hold one of them meanwhile.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # In a run of many: while its workers import torch and collect, a core is free.
    if config.getoption("numprocesses", None):
        with suppress(ToolchainError):  # without a compiler each test says so itself
            for found in (find_toolchain(), find_toolchain(compiler=QUICK)):
                for prelude in ("aten", "light"):
                    header.start(found, prelude, behind=False)


def pays(found: Toolchain, prelude: str) -> bool:
    """Whether enough texts are compiled with a precompiled header to make up for making it, which takes a g++ 15 to 30 s."""
    if found.compiler not in USUAL:
        return False
    often = {"light cuda-cpu": "-O1", "types cuda-cpu": CHECKS}.get(prelude, "-O3")
    if found.compiler == QUICK:
        few, seldom = {"library"}, {UCONTEXT}
    else:
        few, seldom = {"library", "extension", "types cuda-cpu"}, {UCONTEXT, COUNTS}
    return often in found.cflags and prelude not in few and not seldom.intersection(found.cflags)


@pytest.fixture(scope="session", autouse=True)
def _headers_first() -> Iterator[None]:
    """Wait for the precompiled headers with which hundreds of texts compile in a third of the time, and make no others.

    A user's build never waits for one. What a test builds into a cache of its own does not either.
    """
    shared, flags = os.environ["LLTM_INLINE_CACHE"], header.header_flags

    def waited_for(found: Toolchain, prelude: str, **begin: bool) -> tuple[str, ...]:
        if os.environ["LLTM_INLINE_CACHE"] == shared:
            if not pays(found, prelude):
                return ()
            header.wait(found, prelude)
        return flags(found, prelude, **begin)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(header, "header_flags", waited_for)
        yield


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the precompiled headers that nobody waits for any more, and remove the cache of the run."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "header_process.py" in " ".join(process.cmdline()):
                process.terminate()
    if not hasattr(config, "workerinput") and not os.environ.get(KEPT_CACHE):
        shutil.rmtree(os.environ["LLTM_INLINE_CACHE"], ignore_errors=True)


def forget_what_was_said(directory: Path) -> None:
    """Forget what the code under test itself has said: that a text does not compile and why, that a library was tried out."""
    for manifest in directory.glob("kernels/*/build.json"):
        (manifest.parent / "proven.json").unlink(missing_ok=True)
        if not json.loads(manifest.read_text())["ok"]:
            shutil.rmtree(manifest.parent)


@contextmanager
def compiling_quickly() -> Iterator[None]:
    """Compile quickly what names no compiler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", QUICK)
        yield


@pytest.fixture(scope="module")
def quick_compiler() -> Iterator[None]:
    """Compile quickly: for files with texts of their own, which are not about compilers."""
    with compiling_quickly():
        yield


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give one test an empty cache of its own, in which neither precompiled header nor bridge is made; nothing can be loaded."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(directory))
    monkeypatch.setenv("LLTM_INLINE_NO_HEADER", "1")
    monkeypatch.setattr(native, "text", tiny_module.text_without_bridge)
    return directory


@pytest.fixture
def tiny() -> Iterator[Callable[..., Any]]:
    """Register the op `tiny` for one test; `tiny(3)` makes a kernel that multiplies by three."""
    tiny_module.register()
    yield tiny_module.kernel
    tiny_module.forget("tiny")


@dataclass
class Watched:
    """A compiler that writes down how often it is run, and can be made slow or mortal.

    `slow()` has every compilation wait for a text that never comes, `deadly()` kills the compiler in each; `honest()` ends both.
    The bridge, known by its `-O1`, is compiled as always and not counted.
    """

    path: Path
    real: str

    @property
    def compilations(self) -> int:
        """How often a text was compiled, links and version questions not counted."""
        log = self.path.with_name("calls")
        lines = log.read_text().splitlines() if log.exists() else []
        return sum(" -c " in line and " -O1 " not in line for line in lines)

    @property
    def calls(self) -> int:
        """How often it was run at all."""
        log = self.path.with_name("calls")
        return len(log.read_text().splitlines()) if log.exists() else 0

    def slow(self) -> None:
        """Make the next compilations go on until they are ended: the real compiler reads from a pipe in which nobody writes."""
        os.mkfifo(self.path.with_name("endless.cpp"))

    def deadly(self) -> None:
        """Have the next compilations killed, as a machine without memory does."""
        self.path.with_name("deadly").touch()

    def honest(self) -> None:
        """Compile as the real compiler does."""
        for name in ("endless.cpp", "deadly"):
            self.path.with_name(name).unlink(missing_ok=True)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Put a watched g++ into CXX."""
    from tests.needs import need  # a plugin, which is imported as such first

    need("g++")
    real = str(shutil.which("g++"))
    directory = tmp_path / "watched"
    directory.mkdir()
    path = directory / "g++"
    path.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >> {directory}/calls\n'
        'case " $* " in *" -O1 "*) ;; *" -c "*)\n'
        f"  [ -e {directory}/deadly ] && kill -KILL $$\n"
        f"  [ -e {directory}/endless.cpp ] && exec {real} -c {directory}/endless.cpp -o /dev/null\n"
        "esac\n"
        f'exec {real} "$@"\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))
    return Watched(path, real)


@dataclass
class Naive:
    """Plain `load_inline`, as everybody calls it, of texts that need no header and build in a tenth of a second."""

    directory: Path

    def __call__(self, name: str, sources: Any, **options: Any) -> int:
        """Build and load a text, in a directory that bears its name; return what its `answer()` returns."""
        from torch.utils.cpp_extension import load_inline

        directory = self.directory / name
        directory.mkdir(exist_ok=True)
        library = load_inline(
            name=name,
            cpp_sources=sources,
            build_directory=str(directory),
            no_implicit_headers=True,
            is_python_module=False,
            **options,
        )
        return int(ctypes.CDLL(library).answer())


@pytest.fixture
def naive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Naive:
    """Give plain `load_inline` in a directory of this test, without memory of the names of other tests."""
    from torch.utils import _cpp_extension_versioner, cpp_extension

    monkeypatch.setattr(cpp_extension, "JIT_EXTENSION_VERSIONER", _cpp_extension_versioner.ExtensionVersioner())
    directory = tmp_path / "naive"
    directory.mkdir()
    return Naive(directory)


@dataclass
class Script:
    """A Python program running in a process of its own."""

    process: subprocess.Popen[str]

    def output(self, timeout: float = 90) -> str:
        """Wait for its end and return what it printed, errors included."""
        return self.process.communicate(timeout=timeout)[0]

    def compilers(self, text: str = "") -> list[psutil.Process]:
        """List the compilers at work for it, or those alone that compile a file of this name."""
        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.Error):  # it has just ended
                if child.name().startswith("cc1plus") and text in " ".join(child.cmdline()):
                    found.append(child)
        return found


@pytest.fixture
def start() -> Iterator[Callable[..., Script]]:
    """Give `start(text, *arguments)`, which runs a Python program; whatever is still running afterwards is killed."""
    running: list[subprocess.Popen[str]] = []
    files: list[str] = []

    def start(text: str, *arguments: str) -> Script:
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(text)
        files.append(file.name)
        process = subprocess.Popen(
            [sys.executable, file.name, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        running.append(process)
        return Script(process)

    yield start
    for process in running:
        # Its session holds the compilers that a killed program left behind.
        for other in psutil.process_iter():
            try:
                if os.getsid(other.pid) == process.pid:
                    other.kill()
            except (psutil.Error, ProcessLookupError):
                continue
        process.wait()
        if process.stdout:
            process.stdout.close()
    for name in files:
        os.unlink(name)
