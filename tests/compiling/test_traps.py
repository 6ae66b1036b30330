"""The traps of plain `load_inline`, each twice: it bites there, and it does not bite here.

Wherever it can, the first half of a test calls `torch.utils.cpp_extension.load_inline` as everybody does, with
header-free texts that build in a tenth of a second, and asserts that the trap is real on this very torch.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from torch.utils import cpp_extension

from lltm_inline.calling import load
from lltm_inline.compiling import cache, compiler, job, toolchain
from lltm_inline.compiling.compiler import build
from lltm_inline.compiling.inline import is_ours
from lltm_inline.errors import BuildError, DefinitionError, InputError, ToolchainError
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.source.template import render
from tests.tiny import BROKEN, STABLE, answer, entries

# Programs for processes of their own. The first argument of the naive ones is the build directory.
NAIVE = """
import sys
from torch.utils.cpp_extension import load_inline
load_inline("kernel", sys.argv[2], build_directory=sys.argv[1], no_implicit_headers=True, is_python_module=False)
print("loaded")
"""
OURS = """
import sys
import lltm_inline as li
from tests import tiny
tiny.register()
tiny.without_bridge()
found = li.build(tiny.kernel(float(sys.argv[1])), progress=False)
print("cached" if found.cached else "compiled", f"{found.seconds:.2f}")
"""


def until(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait for a condition; fail when it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def leftovers() -> list[Path]:
    """List what stands in the place where entries are made."""
    return list((cache.cache_dir() / "tmp").iterdir())


def test_1_failed_build_again(naive: Any, tiny: Any, fresh_cache: Path) -> None:
    """A failed build that is run again is the same error with the same text, not a missing file."""
    with pytest.raises(RuntimeError, match="expected"):
        naive("kernel", "int f( {")
    with pytest.raises(OSError, match="Could not load this library") as second:
        naive("kernel", "int f( {")
    assert "expected" not in str(second.value)

    errors = []
    for _ in range(2):
        with pytest.raises(BuildError, match="'FACTORY' was not declared in this scope") as error:
            build(tiny(text=BROKEN), progress=False)
        errors.append(error.value)
    assert errors[0].diagnostics == errors[1].diagnostics
    assert str(errors[0]) == str(errors[1]) and errors[0].log == errors[1].log != ""


def test_2_lists_are_not_changed(naive: Any, tiny: Any) -> None:
    """The list that one passes stays as it was, and each text has one binding however often it is rendered."""
    sources = ["#error stop"]
    for _ in range(2):
        with pytest.raises(RuntimeError):
            naive("kernel", sources, functions=["f"])
    assert sum("PYBIND11_MODULE" in source for source in sources) == 2

    kernels = [tiny(), tiny(3)]
    before = list(kernels)
    for _ in range(2):
        build(kernels, progress=False)
    assert kernels == before
    text = render(kernels[0], registry.op_of(kernels[0])).text
    assert text.count('#line 1 "tiny/stable (binding)"') == text.count("void boxed_forward(") == 1


def test_3_back_to_an_old_text(naive: Any, tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """Texts A, B, A compile twice, not three times, and leave nothing of no use behind."""
    for number in (1, 2, 1):
        naive("kernel", answer(number))
    assert watched.compilations == 3
    assert len(list((naive.directory / "kernel").glob("*.so"))) == 3

    builds = [build(tiny(factor), progress=False) for factor in (2, 3, 2)]
    assert watched.compilations == 3 + 2
    assert [found.cached for found in builds] == [False, False, True]
    assert builds[0].path == builds[2].path
    assert len(entries()) == 2


def test_4_killed_builder(tiny: Any, fresh_cache: Path, watched: Any, start: Any, tmp_path: Path) -> None:
    """A process killed while it builds leaves nothing that the next one waits for, and its leavings are swept."""
    watched.slow()
    directory = tmp_path / "naive"
    directory.mkdir()
    first = start(NAIVE, str(directory), answer(1))
    until(lambda: (directory / "lock").exists() and first.compilers())
    first.process.kill()
    first.process.wait()
    watched.honest()
    second = start(NAIVE, str(directory), answer(1))
    until(lambda: second.process.poll() is not None or psutil.Process(second.process.pid).cpu_times().user > 0.5)
    time.sleep(4)
    assert second.process.poll() is None, f"plain load_inline did not hang: {second.output()}"
    second.process.kill()

    watched.slow()
    first = start(OURS, "2")
    until(lambda: leftovers() and first.compilers())
    first.process.kill()
    first.process.wait()
    assert leftovers()
    watched.honest()
    second = start(OURS, "2")
    assert second.output().split()[0] == "compiled"
    assert not leftovers()


def test_5_two_at_once(tiny: Any, fresh_cache: Path, watched: Any, start: Any, tmp_path: Path) -> None:
    """Two processes that build one kernel at once compile it once and both have it."""
    directory = tmp_path / "naive"
    directory.mkdir()
    (directory / "lock").touch()  # what another process, at work on text A, has there
    (directory / "main.cpp").write_text(answer(1))
    other = start(NAIVE, str(directory), answer(2))

    def is_overwritten() -> bool:  # for a moment it is empty
        return (directory / "main.cpp").read_text().strip() == answer(2).strip()

    until(lambda: is_overwritten() or other.process.poll() is not None)
    assert is_overwritten(), "the lock that another holds keeps it"
    other.process.kill()

    both = [start(OURS, "2"), start(OURS, "2")]
    states = sorted(script.output().split()[0] for script in both)
    assert states == ["cached", "compiled"]
    assert watched.compilations == 1
    assert not leftovers()
    paths = {build(tiny(factor), progress=False).path.parent for factor in (2, 3)}
    assert len(paths) == 2, "different texts of one kernel never share a directory"


def test_6_another_torch(tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another torch, Python or compiler means another library: a stale one is never loaded."""
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    before = cpp_extension._get_build_directory("kernel", False)
    key = compiler.make_job(tiny(), toolchain.find_toolchain()).key
    job._platform_identity.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(torch, "__version__", "2.99.0")
        patch.setenv("CXX", "another-compiler")
        assert cpp_extension._get_build_directory("kernel", False) == before
        patch.delenv("CXX")
        assert compiler.make_job(tiny(), toolchain.find_toolchain()).key != key
    job._platform_identity.cache_clear()
    assert compiler.make_job(tiny(), toolchain.find_toolchain()).key == key


def test_7_site_packages(
    naive: Any, tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A build leaves torch's own precompiled header in site-packages alone."""
    mirror = tmp_path / "torch"
    real = Path(torch.__file__).parent / "include"
    (mirror / "include" / "torch").mkdir(parents=True)
    for directory in (real, real / "torch"):
        for item in directory.iterdir():
            if item != real / "torch":
                (mirror / "include" / item.relative_to(real)).symlink_to(item)
    header = mirror / "include" / "torch" / "extension.h.gch"
    monkeypatch.setattr(cpp_extension, "_TORCH_PATH", str(mirror))
    header.touch()
    naive("kernel", answer(1))
    assert not header.exists()

    header.touch()
    assert not build(tiny(), progress=False).cached
    assert header.exists()
    removes = cpp_extension.remove_extension_h_precompiler_headers
    assert removes.__module__ == cpp_extension.__name__, "torch's function is in its place again"


def test_8_docstrings(naive: Any) -> None:
    """Quotes, backslashes and newlines in a docstring do not get into the C++ text."""
    doc = 'says "hello"\nand more'
    with pytest.raises(RuntimeError, match='missing terminating " character'):
        naive("kernel", "int f();", functions={"f": doc})

    kernel = Kernel(
        "lltm/documented", cpp=registry["lltm/aten"].cpp, saves=registry["lltm/aten"].saves, binding="pybind11", doc=doc
    )
    text = render(kernel, registry.op_of(kernel)).text
    [line] = [line for line in text.splitlines() if 'm.def("forward"' in line]
    assert line.endswith(r', "says \"hello\"");')


def test_9_names(naive: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A name that is no identifier, or walks out of the cache, is refused before anything else happens."""
    with pytest.raises(RuntimeError, match="Error building extension"):
        naive("my-kernel", "int TORCH_EXTENSION_NAME;")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "deep" / "cache"))
    outside = Path(cpp_extension._get_build_directory("../../escaped", False)).resolve()
    assert outside.is_dir() and (tmp_path / "deep" / "cache") not in outside.parents

    for name in (
        "my-kernel",
        "tiny/my-kernel",
        "../../escaped",
        "tiny/../x",
        "tiny/x/y",
        "Tiny/x",
        "tiny/",
        "tiny/x\n",
        "tiny/é",
    ):
        with pytest.raises(DefinitionError, match="is not 'op/variant' in lower-case identifiers"):
            Kernel(name, cpp=STABLE)


@pytest.fixture
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put only what g++ needs on PATH, without ninja."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("g++", "c++", "as", "ld", "sh"):
        found = shutil.which(name)
        if found:
            (directory / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(directory))


def test_10_ninja(
    bare_path: None, naive: Any, tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ninja is found beside the interpreter or as a module; where there is none, the error has the cure."""
    with pytest.raises(RuntimeError, match="Ninja is required"):
        naive("kernel", answer(1))

    path = os.environ["PATH"]
    assert not build(tiny(), progress=False).cached
    assert os.environ["PATH"] == path, "PATH is as before"
    monkeypatch.setattr("sys.executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.setitem(__import__("sys").modules, "ninja", None)
    with pytest.raises(
        ToolchainError,
        match=r"no ninja on PATH, beside .*, or as a Python module. Install it with: .* pip install ninja",
    ):
        build(tiny(3), progress=False)
    assert not leftovers()


def test_11_what_is_missing(naive: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing compiler, and CUDA source without a GPU, are called what they are."""
    with monkeypatch.context() as patch:
        patch.setenv("CXX", "no-such-g++")
        with pytest.raises(RuntimeError, match="Error building extension"):
            naive("kernel", answer(1))
        with pytest.raises(
            ToolchainError,
            match=r"no compiler 'no-such-g\+\+' \(from the environment variable CXX\) on PATH. Install one with: \S+",
        ):
            build(tiny(), progress=False)
    with pytest.raises(ToolchainError, match="no compiler 'no-such-clang' on PATH"):
        build(tiny(), compiler="no-such-clang", progress=False)

    if torch.version.cuda is None:
        monkeypatch.setenv("CUDA_HOME", "/usr/local/cuda")
        with pytest.raises(OSError, match="CUDA_HOME environment variable is not set"):
            naive("kernel", answer(1), cuda_sources=["int x;"])
    cuda = Kernel("tiny/cuda", cuda="__global__ void k() {}")
    with pytest.raises(DefinitionError, match="kernel 'tiny/cuda' has no cpp text: device 'cpu' needs one"):
        build(cuda, progress=False)
    if not torch.cuda.is_available():
        runs = Kernel("tiny/cuda", cuda="at::Tensor forward(const at::Tensor& x) { return x; }")
        with pytest.raises(
            ToolchainError,
            match=r"^no GPU was found|^torch \S+ (?:is a CPU build: it cannot use a GPU|finds no GPU)",
        ):
            build(runs, device="cuda", progress=False)


def test_12_where_the_text_goes(naive: Any, tiny: Any, fresh_cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What the compiler says is in the exception, and nothing goes to file descriptor 1 behind the notebook's back."""
    with pytest.raises(RuntimeError) as bare:
        naive("kernel", "int f( {", verbose=True)
    assert "expected" not in str(bare.value)
    assert "expected" in capfd.readouterr().out

    with pytest.raises(BuildError, match="was not declared") as error:
        build(tiny(text=BROKEN), progress=False)
    assert "was not declared" in error.value.log
    assert capfd.readouterr() == ("", "")


def test_13_line_numbers(naive: Any, tiny: Any, fresh_cache: Path) -> None:
    """Lines count in the user's own text, whatever stands around it in the generated file."""
    with pytest.raises(RuntimeError, match=r"main\.cpp:5:"):
        naive("kernel", [answer(1) + "\n", "\nint x = unknown;"])

    with pytest.raises(BuildError) as error:
        build(tiny(text=BROKEN), progress=False)
    [line] = [number for number, text in enumerate(BROKEN.split("\n"), 1) if "FACTORY" in text]
    first = error.value.diagnostics[0]
    assert (first.file, first.line) == ("tiny/stable", line)
    assert f"tiny/stable:{line}:19" in str(error.value)


def test_14_standard(naive: Any, tiny: Any) -> None:
    """A flag cannot take the language back to C++17, which torch's headers do not compile with."""
    with pytest.raises(RuntimeError, match="static assertion failed"):
        naive("kernel", "static_assert(__cplusplus >= 202002L);", extra_cflags=["-std=c++17"])

    with pytest.raises(
        InputError, match=r"'-std=c[+][+]17' chooses an older standard: the headers of torch need C[+][+]20"
    ):
        build(tiny(), cflags=["-O2", "-std=c++17"], progress=False)
    with pytest.raises(
        DefinitionError, match=r"'-std=gnu[+][+]14' chooses an older standard: the headers of torch need C[+][+]20"
    ):
        tiny(flags=("-std=gnu++14",))
    assert tiny(flags=("-std=c++23",)).flags == ("-std=c++23",)


def test_15_loaded_for_good(naive: Any, tiny: Any, fresh_cache: Path) -> None:
    """Libraries stay loaded, so every text has a name of its own, and a build that was pruned can be built again."""
    naive("kernel", answer(1))
    assert naive("kernel", answer(2)) == 2
    mapped = Path("/proc/self/maps").read_text()
    assert f"{naive.directory}/kernel/kernel.so" in mapped and f"{naive.directory}/kernel/kernel_v1.so" in mapped

    first, second = build([tiny(2), tiny(3)], progress=False)
    assert first.namespace != second.namespace
    for found in (first, second):
        torch.ops.load_library(str(found.path))
    cache.clear()
    again = build(tiny(2), progress=False)
    torch.ops.load_library(shutil.copy(again.path, fresh_cache / "again.so"))  # dlopen knows a library by its path
    assert not again.cached and again.digest == first.digest and again.namespace != first.namespace
    forward = [getattr(torch.ops, found.namespace).forward for found in (first, second, again)]
    assert [f(torch.ones(1)).item() for f in forward] == [2, 3, 2]


REGISTERS_TWICE = """
import sys
from torch.utils.cpp_extension import load_inline
text = '#include <torch/csrc/stable/library.h>\\nSTABLE_TORCH_LIBRARY(twice, m) { m.def("f(Tensor x) -> Tensor"); }'
for name in ("first", "second"):
    load_inline(name, text, build_directory=sys.argv[1], no_implicit_headers=True, is_python_module=False)
    print(name, flush=True)
"""


def test_16_cell_run_twice(tiny: Any, start: Any, tmp_path: Path) -> None:
    """Running a cell twice registers its operators once, in a namespace of that text alone."""
    script = start(REGISTERS_TWICE, str(tmp_path))
    assert "first" in script.output()
    assert script.process.returncode < 0, "the process did not die of a second TORCH_LIBRARY of one namespace"

    for factor in (2, 3, 2, 2):
        kernel = tiny(factor)
        assert load(kernel, progress=False)(torch.ones(1)).item() == factor
    one, two, again = (build(tiny(factor), progress=False) for factor in (2, 3, 2))
    assert is_ours(one.namespace) and one.namespace == again.namespace != two.namespace


NAIVE_INTERRUPTED = """
import sys
from torch.utils.cpp_extension import load_inline
for _ in range(2):
    try:
        load_inline("kernel", sys.argv[2], build_directory=sys.argv[1], no_implicit_headers=True, is_python_module=False)
    except BaseException as error:
        print(type(error).__name__, flush=True)
"""
OURS_INTERRUPTED = """
import os, sys, time
import psutil
import lltm_inline as li
from lltm_inline.compiling import cache
from tests import tiny
from tests.stopping import command_of
tiny.register()
tiny.without_bridge()
kernels = [tiny.kernel(2), tiny.kernel(3)]
try:
    li.build(kernels, progress=False)
except KeyboardInterrupt:
    alive = [command for p in psutil.Process().children(recursive=True) if (command := command_of(p))]
    print("interrupted", alive, os.listdir(cache.cache_dir() / "tmp"), tiny.entries(), flush=True)
os.unlink(sys.argv[1])
print([found.cached for found in li.build(kernels, progress=False)])
"""


@pytest.mark.parametrize(
    "whole_group", [pytest.param(False, id="process"), pytest.param(True, id="terminal", marks=pytest.mark.full)]
)
def test_17_interrupt(
    whole_group: bool, tiny: Any, fresh_cache: Path, watched: Any, start: Any, tmp_path: Path
) -> None:
    """Ctrl-C in mid-build ends the compilers, leaves a clean cache, and the next build in the same process works."""

    def interrupt(script: Any) -> None:
        """Press Ctrl-C: in a terminal all processes of the group get the signal, in a notebook only the kernel does."""
        if whole_group:
            os.killpg(script.process.pid, signal.SIGINT)
        else:
            script.process.send_signal(signal.SIGINT)

    watched.slow()
    if not whole_group:
        directory = tmp_path / "naive"
        directory.mkdir()
        script = start(NAIVE_INTERRUPTED, str(directory), answer(1))
        until(lambda: script.compilers())
        interrupt(script)
        assert script.output().split()[-2:] == ["KeyboardInterrupt", "OSError"]

    script = start(OURS_INTERRUPTED, str(watched.path.with_name("endless.cpp")))
    until(lambda: len(script.compilers()) == 2 or script.process.poll() is not None)
    assert script.process.poll() is None, script.output()
    interrupt(script)
    lines = script.output().splitlines()
    assert lines == ["interrupted [] [] []", "[False, False]"]


WAITS = """
import sys
import lltm_inline as li
from lltm_inline.compiling import cache
from tests import tiny
tiny.register()
tiny.without_bridge()
print("ready", flush=True)
try:
    li.build(tiny.kernel(2), progress=False)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_17_interrupt_while_waiting(tiny: Any, fresh_cache: Path, start: Any) -> None:
    """Ctrl-C also ends a wait for another process that builds the same kernel."""
    job = compiler.make_job(tiny(2), toolchain.find_toolchain())
    with cache.lock(job.key):
        script = start(WAITS)
        assert script.process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        script.process.send_signal(signal.SIGINT)
        assert script.output() == "interrupted\n"


def test_flags_are_not_run_by_a_shell(naive: Any, tiny: Any, tmp_path: Path) -> None:
    """Shell characters in a flag are refused, not executed; stray spaces and newlines around a flag are taken off."""
    for number, flags in enumerate([["-DX=1; touch {} #"], ["-DX=$(touch {})"], ["`touch {}`"]]):
        victim = tmp_path / f"executed{number}"
        flags = [flag.format(victim) for flag in flags]
        if number == 0:
            with pytest.raises(RuntimeError):
                naive("kernel", answer(1), extra_cflags=flags)
            assert victim.exists(), "plain load_inline did not execute it"
            victim.unlink()
        with pytest.raises(InputError, match="must start with '-' and hold no spaces or shell characters"):
            build(tiny(), cflags=flags, progress=False)
        with pytest.raises(DefinitionError, match="must start with '-' and hold no spaces or shell characters"):
            tiny(flags=tuple(flags))
        assert not victim.exists()

    kernel = tiny(flags=(" -g0\n\n", "-O1"))
    assert kernel.flags == ("-g0", "-O1")
    found = build(kernel, cflags=["\n-O2 ", "-DY=1\n"], progress=False)
    assert found.flags[:2] == ("-O2", "-DY=1") and found.flags[-2:] == ("-g0", "-O1")


def test_reload(naive: Any, tiny: Any) -> None:
    """A text that is edited and loaded again is the new text at once: 123, 456, 456, 789."""
    for number in (123, 456, 456, 789):
        assert naive("kernel", answer(number)) == number
        assert load(tiny(number), progress=False)(torch.ones(1)).item() == number
