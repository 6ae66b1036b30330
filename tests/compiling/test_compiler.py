"""Builds: what is compiled when, what is remembered, and what is done about a cache that was tampered with."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import lltm_inline as li
from lltm_inline import native
from lltm_inline.compiling import cache, compiler, header, inline
from lltm_inline.compiling import job as job_module
from lltm_inline.compiling.compiler import Job, build, make_job, verify
from lltm_inline.compiling.job import helper_job
from lltm_inline.compiling.toolchain import Toolchain, find_toolchain
from lltm_inline.errors import BuildError, CacheError, DefinitionError, UnknownKernelError
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.source import template
from tests.needs import need, needs
from tests.tiny import BROKEN, STABLE, entries, text_without_bridge

NEW_PROCESS = """
import lltm_inline as li
from tests import tiny
tiny.register()
tiny.without_bridge()
found = li.build(tiny.kernel(2), progress=False)
print(found.cached)
"""


def job(**fields: Any) -> Job:
    """Make a job, the same but for the given fields."""
    toolchain = Toolchain("/usr/bin/g++", "gcc", "g++ 12.2.0", "identity", ("-O3",), ("-Wl,-z,defs",))
    return Job(
        **{"label": "tiny/x", "text": "int x;", "prelude": "aten", "sources": {}, "toolchain": toolchain} | fields
    )


def test_digest_holds_everything_that_matters() -> None:
    """Text, compiler, flags, linker flags and kind of module each change the digest; label and parent do not."""
    same = job()
    tools = same.toolchain
    others = [
        job(text="int y;"),
        job(flags=("-g",)),
        job(python_module=True),
        job(toolchain=dataclasses.replace(tools, identity="another")),
        job(toolchain=dataclasses.replace(tools, cflags=("-O2",))),
        job(toolchain=dataclasses.replace(tools, ldflags=())),
    ]
    assert len({same.key, *(other.key for other in others)}) == len(others) + 1
    assert job(label="tiny/x@3", parent="tiny/x").key == same.key
    assert job(toolchain=dataclasses.replace(tools, cflags=("-O3", "-g"))).key == job(flags=("-g",)).key


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("torch.__version__", "9.9"),
        ("torch.version.git_version", "abc"),
        ("sys.version", "3.99"),
        ("platform.platform", lambda: "elsewhere"),
        ("torch.compiled_with_cxx11_abi", lambda: "other"),
    ],
)
def test_digest_holds_the_platform(where: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another torch, ABI, Python or system changes the digest."""
    before = job().key
    job_module._platform_identity.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(where, value)
            assert job().key != before
    finally:
        job_module._platform_identity.cache_clear()
    assert job().key == before


def test_digest_holds_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-march=native` means another thing on another processor."""
    before = job().key
    with monkeypatch.context() as patch:
        patch.setattr(job_module, "_processor", lambda: "flags: none")
        job_module._platform_identity.cache_clear()
        assert job().key != before
    job_module._platform_identity.cache_clear()


def test_build_says_what_it_is(tiny: Any, fresh_cache: Path) -> None:
    """A build has its file, flags, compiler, time and hash, and prints itself in one line."""
    found = build(tiny(), progress=False)
    assert found.path.is_relative_to(fresh_cache) and found.path.name == "library.so"
    assert found.kernel == "tiny/stable" and not found.cached and found.seconds > 0
    assert cache.hash_file(found.path) == found.sha256
    assert str(found).startswith("tiny/stable: built with g++ ") and " -O3 " in f" {str(found).replace('(', '')} "
    assert (found.path.parent / "main.cpp").read_text().count('#line 1 "tiny/stable"') == 1
    assert list(found.steps) == ["main.o", "library.so"] and 0 < sum(found.steps.values()) < found.seconds
    assert f" in {found.seconds:.2f} s, main.o {found.steps['main.o']:.2f} s, library.so " in str(found)
    again = build(tiny(), progress=False)
    assert again.cached and str(again).startswith("tiny/stable: from the cache in ")
    assert dataclasses.replace(again, cached=False, seconds=found.seconds) == found


def test_back_and_forth_and_new_process(tiny: Any, fresh_cache: Path, watched: Any, start: Any) -> None:
    """Texts A, B, A and a new process run no compiler a second time."""
    builds = [build(tiny(factor), progress=False) for factor in (2, 3)]
    before = watched.calls
    again = build(tiny(2), progress=False)
    assert again.cached and again.path == builds[0].path
    assert start(NEW_PROCESS).output() == "True\n"
    assert watched.calls == before


@pytest.mark.full
def test_several_at_once(tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """A list is built in its order, in parallel, each text once however often it is named."""
    kernels = [tiny(2), tiny(3), tiny(2), tiny(4)]
    builds = build(kernels, progress=False)
    assert [found.kernel for found in builds] == ["tiny/stable"] * 4
    assert builds[0] == builds[2] and len({found.digest for found in builds}) == 3
    assert watched.compilations == 3
    assert build([], progress=False) == []


@pytest.mark.full
def test_good_ones_of_a_list_are_kept(tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """One broken kernel in a list raises, and the others are built all the same."""
    with pytest.raises(BuildError, match="'FACTORY' was not declared"):
        build([tiny(2), tiny(text=BROKEN), tiny(3)], progress=False)
    before = watched.compilations
    assert all(found.cached for found in build([tiny(2), tiny(3)], progress=False))
    assert watched.compilations == before == 3


def test_failure_is_remembered(tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """A failed build is remembered as its diagnostics: the second time no compiler runs and the error is the same."""
    errors = []
    for _ in range(2):
        with pytest.raises(BuildError) as error:
            build(tiny(text=BROKEN), progress=False)
        errors.append(error.value)
    assert watched.compilations == 1
    assert str(errors[0]) == str(errors[1]) and errors[0].diagnostics == errors[1].diagnostics
    [entry] = entries()
    assert not list(entry.path.rglob("*.so")), "a failed build leaves no library"
    manifest = json.loads(
        (fresh_cache / "kernels" / make_job(tiny(text=BROKEN), find_toolchain()).key / "build.json").read_text()
    )
    assert manifest["ok"] is False


def test_failure_bears_the_label_of_who_asks(tiny: Any, fresh_cache: Path) -> None:
    """The remembered diagnostics of a text speak of the revision that is built now."""
    kernel = registry.register(tiny(2))
    broken = kernel.replace(cpp=BROKEN)
    twin = kernel.replace(cpp=BROKEN, doc="another revision with the same text")
    for revision in (broken, twin):
        with pytest.raises(BuildError) as error:
            build(revision, progress=False)
        assert str(error.value).startswith(f"kernel '{revision.label}' did not compile (g++ ")
        assert f'li.diff("{revision.parent}", "{revision.label}")' in str(error.value)
        assert error.value.diagnostics[0].kernel == error.value.kernel == revision.label


def test_log_has_no_colours(tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook's kernel ninja writes colours; log, message, page and cache have none."""
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    with pytest.raises(BuildError) as error:
        build(tiny(text=BROKEN), progress=False)
    assert "FAILED: " in error.value.log and "was not declared" in error.value.log
    [remembered] = (fresh_cache / "kernels").glob("*/log.txt")
    texts = (error.value.log, str(error.value), error.value._repr_html_(), remembered.read_text())
    assert not any("\x1b" in text for text in texts)
    assert compiler._COLOURS.sub("", "\x1b[01m\x1b[Ka\x1b[m\x1b[K \x1b]8;;https://x\x07b\x1b]8;;\x1b\\") == "a b"


def test_killed_compiler_is_not_remembered(tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """When the machine and not the text was at fault, the next build tries again."""
    watched.deadly()
    with pytest.raises(BuildError, match=r"Killed|killed"):
        build(tiny(), progress=False)
    assert entries() == [] and not list((fresh_cache / "tmp").iterdir())
    watched.honest()
    assert not build(tiny(), progress=False).cached


def test_library_is_verified_right_before_it_is_loaded(tiny: Any, fresh_cache: Path) -> None:
    """Between build and load somebody may have changed it."""
    found = build(tiny(), progress=False)
    verify(found)
    data = found.path.read_bytes()
    found.path.unlink()
    with pytest.raises(CacheError, match="library of 'tiny/stable' in the cache was changed or removed"):
        verify(found)
    found.path.write_bytes(data + b"x")
    with pytest.raises(CacheError):
        verify(found)


def test_what_cannot_be_built(tiny: Any) -> None:
    """A Python kernel, a kernel without C++ text and an unknown name are each called that."""
    with pytest.raises(DefinitionError, match="'tiny/python' is a Python function: there is nothing to build"):
        build("tiny/python", progress=False)
    with pytest.raises(DefinitionError, match="kernel 'tiny/x' has no cpp text"):
        build(Kernel("tiny/x", cuda="int x;"), progress=False)
    with pytest.raises(UnknownKernelError):
        build("tiny/unknown", progress=False)
    with pytest.raises(DefinitionError, match="saves w; op 'tiny' has x, y"):
        build(tiny(saves=("w",)), progress=False)


def test_undefined_function_is_a_link_error_with_its_name(tiny: Any, fresh_cache: Path) -> None:
    """A function that is declared and nowhere defined is found at the link, not at the first call."""
    text = "double nowhere(double);\n" + STABLE.replace("times(x, FACTOR)", "times(x, nowhere(FACTOR))")
    with pytest.raises(BuildError, match="did not link") as error:
        build(tiny(text=text), progress=False)
    assert "nowhere" in error.value.diagnostics[0].message


def libraries_of(path: Path) -> list[str]:
    """List the libraries that a library names, in their order."""
    headers = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^ +NEEDED +(\S+)$", headers, re.MULTILINE)


#: What may have undefined names: Python's own.
BOUND = """
#include <torch/extension.h>
torch::Tensor forward(torch::Tensor x) { return x * FACTOR; }
torch::Tensor backward(torch::Tensor d_y, std::array<bool, 1> wanted) { return d_y * FACTOR; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward);
  m.def("backward", &backward);
}
"""


@pytest.mark.usefixtures("quick_compiler")
@needs("readelf")
@pytest.mark.parametrize(
    ("text", "api"),
    [pytest.param(STABLE, "stable", id="stable"), pytest.param(BOUND, "aten", id="pybind11", marks=pytest.mark.full)],
)
def test_a_link_reads_no_names_of_torch(text: str, api: str, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a precompiled header stand empty libraries: what is linked with them names the same libraries, and works."""
    found = li.load(tiny(11, text=text, api=api), progress=False)
    ninja = (found.build.path.parent / "build.ninja").read_text()
    assert re.search(r"^ldflags = .* -L\S+/headers/\w+ ", ninja, re.MULTILINE)
    monkeypatch.setattr(inline, "_stubs", lambda *_: ())
    plain = build(tiny(13, text=text, api=api), progress=False)
    assert libraries_of(found.build.path) == libraries_of(plain.path) and "libtorch_cpu.so" in libraries_of(plain.path)
    assert found(torch.ones(1)).item() == 11


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize(
    "name",
    [
        "nowhere",
        # libgomp has it, with which torch is linked, and the kernel only by g++.
        pytest.param("omp_get_wtick", marks=needs("clang++")),
    ],
)
def test_what_torch_has_not_either_is_a_link_error(name: str, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is nowhere is told at its line, without the text being compiled again."""
    compiled: list[Job] = []
    call = inline._call_load_inline
    monkeypatch.setattr(inline, "_call_load_inline", lambda job, *rest: (compiled.append(job), call(job, *rest))[1])
    text = f'extern "C" double {name}();\n' + STABLE.replace("times(x, FACTOR)", f"times(x, {name}())")
    with pytest.raises(BuildError, match="did not link") as error:
        build(tiny(text=text), progress=False)
    [told] = error.value.diagnostics
    assert name in told.message and f", {name}()" in text.splitlines()[told.line - 1]
    assert len(compiled) == 1


def test_progress_is_told(tiny: Any, fresh_cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A callable hears of each step when something is compiled, and nothing when nothing is."""
    steps: list[str] = []
    build(tiny(), progress=steps.append)
    assert steps == ["building tiny/stable, autograd bridge"]
    build(tiny(), progress=steps.append)
    assert len(steps) == 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.full
def test_environment_is_as_before(tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a build sets for `load_inline` is taken back, after a failure too, and a user's own locale stays out of the log."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    before = dict(os.environ)
    build([tiny(2), tiny(3)], progress=False)
    with pytest.raises(BuildError):
        build(tiny(text=BROKEN), progress=False)
    assert dict(os.environ) == before


@pytest.mark.full
def test_builds_from_several_threads(tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """Threads that build at once, the same and different kernels, each get their own."""
    found: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: build(tiny(2 + n % 2), progress=False)})) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and found[0].digest == found[2].digest != found[1].digest == found[3].digest
    assert watched.compilations == 2


@pytest.mark.full
def test_two_compilers_in_two_threads(tiny: Any, fresh_cache: Path) -> None:
    """Builds with different compilers do not get into each other's way."""
    need("clang++")
    found: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda c=c: found.update({c: build(tiny(), compiler=c, progress=False)}))
        for c in ("g++", "clang++")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: result.compiler.split()[0] for name, result in found.items()} == {"g++": "g++", "clang++": "clang++"}


@pytest.mark.full
@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_precompiled_header(name: str, tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header is made beside the first build, used by the next, also in a path that a shell would take apart, and
    thrown away when it is damaged, without the user noticing."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "a b;(c)&"))
    monkeypatch.setattr(native, "text", text_without_bridge)
    need(name)
    toolchain = find_toolchain(name)
    first = build(tiny(2), compiler=name, progress=False)
    assert "-include" not in first.log
    assert header.wait(toolchain, "stable", 600), "the header was not made"
    second = build(tiny(3), compiler=name, progress=False)
    assert "-include" in second.log and second.flags == first.flags
    [made] = (tmp_path / "a b;(c)&" / "headers").rglob("prelude.h.*")

    made.write_bytes(made.read_bytes()[: 2**16])
    third = build(tiny(4), compiler=name, progress=False)
    torch.ops.load_library(str(third.path))
    assert not third.cached and getattr(torch.ops, third.namespace).forward(torch.ones(1)).item() == 4
    assert not made.exists() or "-include" not in third.log


@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_what_stands_beside_a_header_is_its_fault(name: str, tmp_path: Path) -> None:
    """A linker that misses an object beside a header, or cannot read a library there, complains of the header, not of the text."""
    need(name)
    beside = tmp_path / "headers" / "0a1b2c"
    beside.mkdir(parents=True)
    (beside / "libtorch_cpu.so").write_text("cut off")
    (tmp_path / "main.cpp").write_text("int nowhere(); int f() { return nowhere(); }")
    (beside / "whole.cpp").touch()
    subprocess.run([name, "-fPIC", "-c", tmp_path / "main.cpp"], cwd=tmp_path, check=True)
    subprocess.run([name, "-c", "whole.cpp", "-o", "runtime.o"], cwd=beside, check=True)

    def complaint(*given: str | Path) -> str:
        command = [name, "main.o", "-shared", *map(str, given), "-Wl,-z,defs", "-o", "a.so"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode
        return f"FAILED: a.so\n{' '.join(command)}\n{done.stderr}"

    assert header.is_cause_of(complaint(beside.with_name("9f8e7d") / "runtime.o"))
    assert header.is_cause_of(complaint(f"-L{beside}", "-ltorch_cpu"))
    assert not header.is_cause_of(complaint(beside / "runtime.o"))
    assert not header.is_cause_of(complaint("lost.o"))


def test_failed_header_is_not_tried_again(tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header that does not compile leaves its log, and is neither used nor started a second time."""
    monkeypatch.delenv("LLTM_INLINE_NO_HEADER")
    monkeypatch.setitem(template.PRELUDE, "stable", "#error broken\n")
    toolchain = find_toolchain()
    process = header.start(toolchain, "stable")
    assert process is not None and process.wait(60) == 0
    directory = fresh_cache / "headers" / header.header_key(toolchain, "stable")
    assert [path.name for path in directory.iterdir()] == ["log.txt"]
    monkeypatch.setattr(header, "start", lambda *_: pytest.fail("started again"))
    assert header.header_flags(toolchain, "stable") == ()
    assert not header.wait(toolchain, "stable", 1)


@pytest.mark.full
def test_killed_header_is_tried_again(
    tiny: Any, fresh_cache: Path, watched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header whose compiler was killed leaves nothing, so that it is made the next time."""
    monkeypatch.delenv("LLTM_INLINE_NO_HEADER")
    toolchain = find_toolchain()
    script = watched.path
    script.write_text(
        script.read_text().replace(
            'case " $* "',
            '[ -e "$0.oom" ] && { echo "fatal error: Killed signal terminated program" >&2; exit 1; }\ncase " $* "',
        )
    )
    Path(f"{script}.oom").touch()
    process = header.start(toolchain, "stable")
    assert process is not None and process.wait(60) == 0
    assert not list((fresh_cache / "headers").iterdir()) and not list((fresh_cache / "tmp").iterdir())
    Path(f"{script}.oom").unlink()
    assert header.wait(toolchain, "stable", 600)


@pytest.mark.parametrize("behind", [True, False])
def test_header_steps_back(
    behind: bool, tiny: Any, fresh_cache: Path, watched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header takes nothing from the kernel that is compiled beside it: neither within its session nor among sessions."""
    monkeypatch.delenv("LLTM_INLINE_NO_HEADER")
    monkeypatch.setitem(template.PRELUDE, "stable", "#error broken\n")
    toolchain = find_toolchain()
    script = watched.path
    asks = '{ nice; cat /proc/self/autogroup; } > "$0.rank" 2> /dev/null\ncase " $* "'
    script.write_text(script.read_text().replace('case " $* "', asks))
    process = header.start(toolchain, "stable", behind=behind)
    assert process is not None and process.wait(60) == 0
    niceness, *group = Path(f"{script}.rank").read_text().splitlines()
    assert int(niceness) == min(19, os.nice(0) + (10 if behind else 0))
    if os.access("/proc/self/autogroup", os.W_OK):  # Linux that shares out by session
        assert [line.rpartition(" nice ")[2] for line in group] == ["10" if behind else "0"]


def _processes_with(word: str) -> list[psutil.Process]:
    return [process for process in psutil.process_iter(["cmdline"]) if word in " ".join(process.info["cmdline"] or ())]


def test_a_header_is_not_waited_for_without_end(
    fresh_cache: Path, watched: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What makes a header ends when it takes too long, with the compiler behind the compiler and with its workspace."""
    monkeypatch.delenv("LLTM_INLINE_NO_HEADER")
    monkeypatch.setattr(header, "MAX_SECONDS", 2)
    toolchain = find_toolchain()
    endless = tmp_path / "endless.cpp"
    os.mkfifo(endless)
    script = watched.path
    slow = f'case " $* " in *c++-header*) {watched.real} -c {endless} -o /dev/null; exit 1;; esac\ncase " $* "'
    script.write_text(script.read_text().replace('case " $* "', slow))
    process = header.start(toolchain, "stable")
    assert process is not None
    try:
        assert process.wait(60) == 1
        assert not psutil.wait_procs(_processes_with(str(endless)), 10)[1]
    finally:
        for left in _processes_with(str(endless)):
            left.kill()
    assert not list((fresh_cache / "headers").iterdir()) and not list((fresh_cache / "tmp").iterdir())


@pytest.mark.full
def test_the_first_text_of_a_script_makes_no_header(
    tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that builds one kernel leaves none behind; a second text, or somebody at a prompt, has it made."""
    started: list[str] = []
    monkeypatch.setattr(header, "start", lambda toolchain, prelude: started.append(prelude))
    monkeypatch.delattr(sys, "ps1", raising=False)
    build(tiny(2), progress=False)
    assert not started
    build(tiny(2), progress=False)  # cached: nothing is compiled
    assert not started
    build(tiny(3), progress=False)
    assert started == ["stable"]
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert header.header_flags(find_toolchain(), "aten", begin=False) == () and started == ["stable"]
    assert header.header_flags(find_toolchain(), "aten") == () and started == ["stable", "aten"]


def test_what_all_kernels_share_is_begun_at_a_prompt(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import at a prompt begins to make our libraries, once for each compiler; a script's does not, nor does a broken cache show."""
    begun: list[Any] = []
    monkeypatch.setattr(header, "_started", begun.append)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    header.start_helpers()  # fresh_cache says that nothing is to be made
    monkeypatch.delenv("LLTM_INLINE_NO_HEADER")
    monkeypatch.delattr(sys, "ps1")
    header.start_helpers()
    assert not begun
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    header.start_helpers()
    header.start_helpers()
    assert [job["helpers"] for job in begun] == [native.BESIDE]
    monkeypatch.setenv("CXX", "another-c++")
    header.start_helpers()
    assert len(begun) == 2
    fresh_cache.chmod(0o755)
    header.start_helpers()
    assert len(begun) == 2


@pytest.mark.full
def test_what_all_kernels_share_is_made_at_a_prompt(
    fresh_cache: Path, watched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries are those that a build looks for; of one that is ended meanwhile nothing is left."""
    monkeypatch.delenv("LLTM_INLINE_NO_HEADER")
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    process = header.start_helpers()
    assert process is not None
    while not list(fresh_cache.glob("tmp/*/main.cpp")):
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    assert process.wait(60) == 1 and not list((fresh_cache / "tmp").iterdir())
    cache.clear()
    process = header.start_helpers()
    assert process is not None and process.wait(600) == 0
    monkeypatch.undo()
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(fresh_cache))
    jobs = [helper_job(name, find_toolchain(str(watched.path))) for name in native.BESIDE]
    assert all(made.cached for made in compiler.run_jobs(jobs, progress=False))


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(("most", "kept"), [(2500, "now lately"), (10_000, "now lately today yesterday")])
def test_headers_have_a_limit_of_their_own(
    most: int, kept: str, is_there: bool, tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When one is made or used, those go that were not used for weeks, and the longest ago until the rest fits; none used just now."""
    monkeypatch.delenv("LLTM_INLINE_NO_HEADER")
    monkeypatch.setattr(header, "MAX_BYTES", most)
    monkeypatch.setitem(template.PRELUDE, "stable", "#error broken\n")  # its log is an entry, too
    room = cache.cache_dir() / "headers"
    for age, name in (
        (1, "now"),
        (4 * 60, "lately"),
        (5 * 3600, "today"),
        (30 * 3600, "yesterday"),
        (20 * 86400, "old"),
    ):
        (room / name).mkdir()
        (room / name / "prelude.h.gch").write_bytes(bytes(1000))
        os.utime(room / name, (time.time() - age,) * 2)
    toolchain = find_toolchain()
    if is_there:
        header.directory_of(toolchain, "stable").mkdir()
        (header.directory_of(toolchain, "stable") / header._NAMES[toolchain.kind]).touch()
        header._prune.cache_clear()
        assert header.header_flags(toolchain, "stable")
    else:
        process = header.start(toolchain, "stable")
        assert process is not None and process.wait(60) == 0
    assert {path.name for path in room.iterdir()} == {*kept.split(), header.header_key(toolchain, "stable")}
    assert not list((fresh_cache / "tmp").iterdir())


def test_no_room_no_header(tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the header is left out."""
    monkeypatch.delenv("LLTM_INLINE_NO_HEADER")
    monkeypatch.setattr(cache, "free_bytes", lambda: header.MIN_FREE_BYTES - 1)
    assert header.start(find_toolchain(), "stable") is None


PRINTED = """\
tiny/x:2:9: warning: suggest parentheses around assignment used as truth value [-Wparentheses]
tiny/x:3:3: optimized: loop vectorized using 32 byte vectors"""


@pytest.mark.parametrize("cached", [False, True])
def test_what_the_compiler_printed_is_shown(cached: bool) -> None:
    """A build that went well, made now or before, shows its warnings at the user's lines and keeps all that was printed."""
    text = "int f(int n) {\n  if (n = 1) return 2;\n}"
    manifest = {"namespace": "", "log": f"g++ -O3\n\n{PRINTED}", "sha256": ""}
    found = compiler._as_build(job(sources={"tiny/x": text}), manifest, Path("library.so"), 0.0, cached=cached)
    [warning] = found.warnings
    assert (warning.line, warning.column) == (2, 9) and warning.help == "A single = assigns: write == to compare."
    assert found.printed == PRINTED and f"\n{warning}\n" in str(found)
    assert str(found).endswith("All that the compiler printed, 2 lines: print(build.printed)")
    assert "-&gt; 2 |   if (n = 1) return 2;" in found._repr_html_() and "loop vectorized" in found._repr_html_()
    silent = compiler._as_build(job(), {**manifest, "log": "g++ -O3"}, Path("library.so"), 0.0, cached=cached)
    assert silent.printed == "" and silent.warnings == () and "\n" not in str(silent)


def test_ninja_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ninja prints in a directory of ours is kept, or raised where it fails; in another directory torch runs it."""
    (tmp_path / "ninja").write_text(
        "#!/bin/sh\necho '[1/2] c++ -c main.cpp'\necho 'tiny/x:1:1: warning: w'\n[ ! -e fail ]\n"
    )
    (tmp_path / "ninja").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    others: list[str] = []
    run = inline._heard(lambda directory, verbose, error_prefix: others.append(directory))
    with inline._listening(tmp_path) as printed:
        run(str(tmp_path), False, "Error")
        assert inline._log_of("c++ -O3", "".join(printed)) == "c++ -O3\n\ntiny/x:1:1: warning: w"
        (tmp_path / "fail").touch()
        with pytest.raises(RuntimeError, match=r"^Error: \[1/2\]"):
            run(str(tmp_path), False, error_prefix="Error")
    run(str(tmp_path), False, "Error")
    assert others == [str(tmp_path)] and inline._log_of("c++ -O3", "") == "c++ -O3"


@pytest.mark.full
def test_warnings_of_a_real_build(tiny: Any, fresh_cache: Path) -> None:
    """An assignment in an `if` builds, and is told when it is built and when it comes from the cache."""
    head = "#include <ATen/core/Tensor.h>\n"
    text = head + "at::Tensor forward(const at::Tensor& x) {\n  int n = 0;\n  if (n = 1) return x;\n  return x;\n}\n"
    first, again = (build(Kernel("tiny/warned", cpp=text), progress=False) for _ in range(2))
    assert not first.cached and again.cached and first.warnings == again.warnings
    assert [(item.file, item.line) for item in first.warnings] == [("tiny/warned", 4)]


@pytest.mark.full
@pytest.mark.parametrize(("compiler", "flag"), [("g++", "-fopt-info-vec"), ("clang++", "-Rpass=loop-vectorize")])
def test_remarks_of_a_real_build(tiny: Any, fresh_cache: Path, compiler: str, flag: str) -> None:
    """Whoever asks what the optimiser did finds its answer at the kernel's own line."""
    need(compiler)
    text = """#include <ATen/core/Tensor.h>
void twice(float* x, long n) {
  for (long i = 0; i < n; ++i)
    x[i] *= 2;
}
at::Tensor forward(const at::Tensor& x) { twice(x.data_ptr<float>(), x.numel()); return x; }
"""
    done = build(Kernel("tiny/remarked", cpp=text), compiler=compiler, cflags=["-O3", flag], progress=False)
    # clang++ puts a remark at the head of the function, and the loop's line, which #line has moved, behind it.
    assert "vectorized" in done.printed and "tiny/remarked:3:" in done.printed
    assert str(done).endswith("print(build.printed)")
