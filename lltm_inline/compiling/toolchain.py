"""Which compiler, and with which flags. Everything here ends up in the digest of a build, and beside every plot."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..base.arguments import shown
from ..base.device import DEVICES, Device
from ..base.files import UTF8
from ..base.flags import complaint
from ..base.packages import install_command, pip_command
from ..errors import InputError, ToolchainError
from . import cache, environment
from .nvcc import Nvcc, find_cuda

#: Searched in this order when neither the caller nor CXX names a compiler.
COMPILERS = ("g++", "c++", "clang++")

#: Those that link a kernel in less than half of GNU ld's time, the fastest first. Each reads all names of libtorch_cpu.
_LINKERS = ("mold", "lld", "gold")

#: An undefined function is a link error with it, with a name, instead of a load error without one.
ALL_DEFINED = "-Wl,-z,defs"

# Whatever the user's flags are. A missing return is undefined behaviour that beginners read as a wrong result, narrowing in
# braces is an error in clang anyway, the two warnings explain an error that follows. Hidden visibility keeps the globals of
# one kernel from being those of the next: g++ makes statics in templates unique over the whole process otherwise.
_ALWAYS = ("-Werror=return-type", "-Werror=narrowing", "-Wparentheses", "-Wunknown-pragmas", "-fvisibility=hidden")

# The line of every instruction, for the report of a crash, in the format that older tools read, too. In this order: the format
# alone would ask for all variables as well, which costs a fifth of the compile time.
_DEBUG = ("-gdwarf-4", "-g1")


@dataclass(frozen=True)
class Toolchain:
    """A compiler and its flags.

    Attributes:
        compiler: absolute path.
        kind: `"gcc"` or `"clang"`.
        version: `"g++ 12.2.0"`.
        identity: everything that tells this compiler from another.
        cflags: flags of compilation, in order.
        ldflags: flags of linking, in order.
        device: for which texts are compiled.
        nvcc: compiles the CUDA file, with its own flags, for a device that has one.
    """

    compiler: str
    kind: str
    version: str
    identity: str
    cflags: tuple[str, ...]
    ldflags: tuple[str, ...]
    device: Device = DEVICES["cpu"]
    nvcc: Nvcc | None = None


def find_toolchain(
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    device: str = "cpu",
    *,
    compile_only: bool = False,
) -> Toolchain:
    """Choose the compilers for a device, and their flags.

    Args:
        compiler: name or path; None takes the environment's CXX, else the first of g++, c++, clang++ that is there.
        cflags: in place of the default optimisation flags (`-O3`, or what the device has in its place, `-march=native -fopenmp`
            and the vector width of ATen).
        device: for a GPU nvcc is looked for, too.
        compile_only: what is compiled need not run here.

    Raises:
        ToolchainError: there is no such compiler; or, for a GPU, as for `find_cuda`.
        InputError: a flag that would break the build or is none.

    Example:
        >>> "-O3" in find_toolchain().cflags
        True
    """
    path = _find_compiler(compiler)
    probe = _probed(path, environment.users("PATH") or "", os.stat(path).st_mtime_ns, environment.of_compilers())
    kind, version, identity, linker = probe["kind"], probe["version"], probe["identity"], probe["linker"]
    where = DEVICES[device]
    flags = (
        default_cflags(kind, openmp=probe["openmp"], level=where.level) if cflags is None else validated_cflags(cflags)
    )
    if is_old_gcc(kind, version):
        flags = tuple(flag for flag in flags if not flag.startswith("-fsanitize-coverage="))
    ldflags = [ALL_DEFINED, *(["-fopenmp"] if "-fopenmp" in flags else [])]
    wants_more = any(re.match(r"-g(?:\d|dwarf|gdb|$)", flag) for flag in flags)
    debug = () if wants_more else _DEBUG
    if linker and (debug or linker != "gold"):  # it ends with an internal error at an undefined function in DWARF 5
        ldflags.append(f"-fuse-ld={linker}")
    nvcc = find_cuda(compile_only=compile_only) if where.needs_gpu else None
    return Toolchain(path, kind, version, identity, (*flags, *_ALWAYS, *debug), tuple(ldflags), where, nvcc)


def is_old_gcc(kind: str, version: str) -> bool:
    """Tell whether a compiler is a g++ before 12.

    It cannot say which branches are taken: the code that is told would do so as well. It cannot fill local variables, either.

    Example:
        >>> is_old_gcc("gcc", "g++ 11.4.0"), is_old_gcc("gcc", "g++ 12.2.0")
        (True, False)
    """
    number = re.search(r"\d+", version.removeprefix("g++"))
    return kind == "gcc" and number is not None and int(number[0]) < 12


def _find_compiler(compiler: str | None) -> str:
    wanted = compiler or environment.users("CXX") or None
    for name in [wanted] if wanted else COMPILERS:
        path = shutil.which(name)
        if path:
            return os.path.abspath(path)
    if wanted:
        origin = "" if compiler else " (from the environment variable CXX)"
        if " " in wanted and shutil.which(wanted.split()[0]):
            raise ToolchainError(
                f"{wanted!r}{origin} is more than one word, want a compiler's name. Its flags: cflags=[...]"
            )
        raise ToolchainError(f"no compiler {wanted!r}{origin} on PATH. Install one with: {install_command('compiler')}")
    raise ToolchainError(
        f"no C++ compiler: looked for {', '.join(COMPILERS)} on PATH. Install one with: {install_command('compiler')}"
    )


@lru_cache(maxsize=32)
def _probed(path: str, search_path: str, mtime: int, variables: tuple[str, ...]) -> dict[str, Any]:
    """Find out what a compiler is and can do; remembered in the cache, because trying costs a fifth of a second.

    Compiler and linkers are recognised by path and modification time, so that an upgrade is noticed.
    """
    linkers = [found for name in _LINKERS if (found := shutil.which(f"ld.{name}", path=search_path))]
    stamps = [f"{file} {os.stat(file).st_mtime_ns}" for file in linkers]
    key = cache.digest(path, str(mtime), os.path.realpath(path), stamps, variables)
    store = cache.cache_dir() / "toolchains" / f"{key}.json"
    try:
        return dict(json.loads(store.read_text()))
    except (OSError, ValueError):
        openmp = _makes([path, "-fopenmp"], "#include <omp.h>\nint main() { return omp_get_max_threads() == 0; }\n")
        probe = {**_identify(path), "openmp": openmp, "linker": _fast_linker(path)}
        cache.write_whole(store, json.dumps(probe))
        return probe


def _identify(path: str) -> dict[str, str]:
    """Return kind, short version and full identity of a compiler."""
    try:
        text = subprocess.run(
            [path, "--version"], capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"}, **UTF8
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolchainError(
            f"{path} --version failed: {error}. Is it a C++ compiler? Set CXX to one that works"
        ) from error
    first = text.partition("\n")[0]
    kind = "clang" if "clang" in text else "gcc"
    plain = re.sub(r"\([^)]*\)", "", first)  # the distribution's own number stands in brackets
    number = re.search(r"\d+\.\d+(?:\.\d+)?", f"{plain} {first}")
    name = "clang++" if kind == "clang" else "g++"
    return {
        "kind": kind,
        "version": f"{name} {number[0] if number else '?'}",
        "identity": f"{os.path.realpath(path)}\n{text}",
    }


def default_cflags(kind: str, *, openmp: bool, level: str) -> tuple[str, ...]:
    """Return the optimisation flags: what `load_inline` leaves out, and what ATen's own vector code is compiled with.

    With clang only `omp simd`: its OpenMP runtime is another than torch's, and the threads of the two fight. Rendered texts
    run `at::parallel_for` on torch's threads then.
    """
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    vector = (
        (f"-DCPU_CAPABILITY={capability}", f"-DCPU_CAPABILITY_{capability}")
        if capability in ("AVX2", "AVX512")
        else ("-DCPU_CAPABILITY=DEFAULT",)
    )
    native = "-march=native" if platform.machine() in ("x86_64", "AMD64") else "-mcpu=native"
    threads = ("-fopenmp-simd",) if kind == "clang" else ("-fopenmp",) if openmp else ()
    return (level, native, *threads, *vector)


def _fast_linker(compiler: str) -> str | None:
    """Return the name of a faster linker than the default, when this compiler can use one."""
    there = (linker for linker in _LINKERS if shutil.which(f"ld.{linker}"))
    return next((linker for linker in there if _makes([compiler, f"-fuse-ld={linker}", "-shared"], "")), None)


def _makes(command: Sequence[str], text: str) -> bool:
    """Tell whether a command makes something of a C++ text."""
    probe = [*command, "-x", "c++", "-", "-o", os.devnull]
    return subprocess.run(probe, input=text, capture_output=True, **UTF8).returncode == 0


def validated_cflags(cflags: Sequence[str]) -> tuple[str, ...]:
    """Check flags that a user gives: each is one word that ninja and the shell take as it is, and changes the compilation only.

    Raises:
        InputError: a flag that `flags.complaint` refuses.
    """
    flags = tuple(flag.strip() for flag in cflags)
    for flag in flags:
        if wrong := complaint(flag):
            raise InputError(f"flag {shown(flag)} {wrong}")
    return flags


def ninja_directory() -> Path | None:
    """Find the directory that has to be put on PATH for ninja; None when ninja is on PATH.

    `load_inline` looks on PATH only; a kernel of a virtual environment that is not activated has it beside the
    interpreter, and a read-only or zipped install may have it as a module only.

    Raises:
        ToolchainError: there is no ninja anywhere.
    """
    if shutil.which("ninja"):
        return None
    beside = Path(sys.executable).parent
    if os.access(beside / "ninja", os.X_OK):
        return beside
    try:
        import ninja
    except ImportError:
        raise ToolchainError(
            f"no ninja on PATH, beside {sys.executable}, or as a Python module. Install it with: {pip_command('ninja')}"
        ) from None
    return Path(ninja.BIN_DIR)
