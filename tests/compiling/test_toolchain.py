"""Which compiler, with which flags, and what is said when there is none."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from lltm_inline.compiling import toolchain
from lltm_inline.compiling.compiler import build
from lltm_inline.compiling.toolchain import find_toolchain, ninja_directory, validated_cflags
from lltm_inline.errors import InputError, ToolchainError
from tests.needs import need


def test_default_is_gcc_with_flags_that_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any wish it is g++, optimised for this machine; a missing return is an error."""
    monkeypatch.delenv("CXX", raising=False)
    found = find_toolchain()
    assert found.kind == "gcc" and found.version.startswith("g++ ") and os.path.isabs(found.compiler)
    assert {"-O3", "-march=native", "-Werror=return-type"} <= set(found.cflags)
    assert "-Wl,-z,defs" in found.ldflags


def test_environment_and_argument_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """CXX chooses the compiler, the argument goes over it, and an empty CXX is none."""
    need("clang++")
    monkeypatch.setenv("CXX", "clang++")
    assert find_toolchain().kind == "clang" and find_toolchain().version.startswith("clang++ ")
    assert find_toolchain("g++").kind == "gcc"
    monkeypatch.setenv("CXX", "")
    assert find_toolchain().kind == "gcc"


@pytest.mark.full
def test_clang_builds(tiny: Any) -> None:
    """The same kernel builds with clang++, under a digest of its own."""
    need("clang++")
    one, two = build(tiny(), progress=False), build(tiny(), compiler="clang++", progress=False)
    assert two.compiler.startswith("clang++") and one.digest != two.digest


def test_nothing_to_be_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without any compiler the message says what was looked for and how to get one."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ToolchainError, match=r"^no C\+\+ compiler: looked for g\+\+, c\+\+, clang\+\+ on PATH\. Install one with: \S+"
    ):
        find_toolchain()


def test_what_is_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh_cache: Path) -> None:
    """A program that is no compiler is called that, and nothing is remembered of it."""
    path = tmp_path / "g++"
    path.write_text("#!/bin/sh\nexit 3\n")
    path.chmod(0o755)
    with pytest.raises(
        ToolchainError, match=r"g\+\+ --version failed: .*Is it a C\+\+ compiler\? Set CXX to one that works"
    ):
        find_toolchain(str(path))
    assert not list((fresh_cache / "toolchains").iterdir())


def test_probe_is_remembered_until_the_compiler_changes(watched: Any, fresh_cache: Path) -> None:
    """A compiler is tried out once per machine, and again after an upgrade."""
    first = find_toolchain()
    calls = watched.calls
    assert calls > 0
    toolchain._probed.cache_clear()
    assert find_toolchain() == first and watched.calls == calls
    os.utime(watched.path, (1, 1))
    assert find_toolchain() == first and watched.calls > calls


def test_damaged_memory_is_written_anew(fresh_cache: Path) -> None:
    """A half-written file about a compiler is no obstacle."""
    first = find_toolchain()
    [file] = (fresh_cache / "toolchains").iterdir()
    file.write_text(file.read_text()[:10])
    toolchain._probed.cache_clear()
    assert find_toolchain() == first
    assert file.read_text().endswith("}")


@pytest.mark.parametrize(
    "flag",
    ["-O2 -g", "-D'X=1'", '-DX="1"', "-DX=$HOME", "-O2;ls", "-O2|ls", "-O2&", "-I<x>", "-DX=`ls`", "-DX=\\n", "O2", ""],
)
def test_flags_that_are_refused(flag: str) -> None:
    """What the shell or ninja would take apart is refused with a cure."""
    with pytest.raises(
        InputError, match="must start with '-' and hold no spaces or shell characters: give one list item per flag"
    ):
        validated_cflags([flag])


def test_flags_that_are_taken() -> None:
    """Spaces and newlines around a flag are taken off, and newer standards are fine."""
    assert validated_cflags([" -O2\n", "-std=c++23", "-DX=1", "-I/usr/include/a-b_c"]) == (
        "-O2",
        "-std=c++23",
        "-DX=1",
        "-I/usr/include/a-b_c",
    )
    with pytest.raises(InputError, match=r"headers of torch need C[+][+]20"):
        validated_cflags(["-std=c++17"])


def test_flags_are_the_callers(tiny: Any) -> None:
    """Flags given replace the default ones, and stand in the build."""
    found = build(tiny(), cflags=["-O1"], progress=False)
    assert "-O1" in found.flags and "-O3" not in found.flags
    assert found.digest != build(tiny(), progress=False).digest


def test_lines_are_left_in_the_library() -> None:
    """A crash can be traced to its line, whatever the flags are; who asks for more debug information gets that."""
    for cflags in (None, ["-O1"], ["-O0", "-ggnu-pubnames"]):
        assert find_toolchain(cflags=cflags).cflags[-2:] == ("-gdwarf-4", "-g1")
    for wanted in ("-g", "-g0", "-g3", "-ggdb", "-ggdb3", "-gdwarf-5"):
        assert not {"-g1", "-gdwarf-4"} & set(find_toolchain(cflags=["-O0", wanted]).cflags)


def test_ninja_is_looked_for_in_three_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On PATH, beside the interpreter, as a module; and then the message has the command."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "ninja").touch(mode=0o755)
    assert ninja_directory() is None
    (tmp_path / "ninja").unlink()
    beside = tmp_path / "venv"
    beside.mkdir()
    (beside / "ninja").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(beside / "python"))
    assert ninja_directory() == beside
    (beside / "ninja").unlink()
    found = ninja_directory()
    assert found is not None and (found / "ninja").exists()
    monkeypatch.setitem(sys.modules, "ninja", None)
    with pytest.raises(ToolchainError, match="pip install ninja"):
        ninja_directory()
