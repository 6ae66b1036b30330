"""Has a text compiled behind the locks, and looks at what came of it before anybody loads it.

What is built lies in a room of the cache that only this module writes: what a kernel of somebody's own notebook has put
into the cache of kernels is neither read nor believed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ..base.device import DEVICES, OF_LAB
from ..compiling import cache, header
from ..compiling.compiler import Build, run_jobs
from ..compiling.job import Job, _platform_identity
from ..compiling.toolchain import ALL_DEFINED, Toolchain, find_toolchain, is_old_gcc, ninja_directory
from ..errors import CacheError, InfraError, LltmInlineError, ToolchainError
from ..model.registry import Kernel, Op
from ..source.template import prelude_text, runtime_text
from ..version import __version__
from .inside import BuildTask, Library
from .locked import Gone, Locked
from .symbols import complaint_of_library

#: How long the clock may run where other processes have the processors, and what compilers may print.
_BUSY, _BUILD_OUTPUT = 10, 1 << 20
#: Where a system has what compilers read, and what of it lies below a prefix; a linker wants to list all of `lib`.
_SYSTEM = ("/etc/alternatives", "/usr/local/include", "/nix/store")
_OF_PREFIX = ("bin", "include", "lib*", "*-linux-gnu*")


class Refused(Exception):
    """A text of which no library came, or none that is loaded.

    Attributes:
        stage: `forbidden`, `signature` or `builds`.
        reason: in one sentence.
    """

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(reason)
        self.stage, self.reason = stage, reason


def unknown(*_: Any) -> Any:
    """Stand in the place of an op's reference wherever a submission runs."""
    raise RuntimeError("there is no reference here")


def blind(op: Op) -> Op:
    """Return what a submission may know of an op: its schema and shapes."""
    return replace(op, reference=unknown, inputs=unknown, cost=None, benchmark_sizes=(), check_size=(), doc="")


#: How a text is linked that a lab counts: what it has of the runtime is found when it is loaded, and what copies memory is watched.
_WATCHED = tuple(f"-Wl,--wrap={name}" for name in ("memcpy", "memmove", "memset"))
#: The headers of the runtime; any text's will do.
_OF_RUNTIME = "light cuda-cpu"


def toolchain_of(compiler: str | None, kind: str = "cpp") -> Toolchain:
    """Choose the compiler of submissions, of C++ or CUDA texts.

    Raises:
        InfraError: there is no compiler, or for CUDA texts none that tells of branches.
    """
    try:
        plain = find_toolchain(compiler)
        if kind == "cpp":
            return plain
        if is_old_gcc(plain.kind, plain.version):
            raise InfraError(f"CUDA texts are counted with g++ 12 or newer, or clang++: this is {plain.version}")
        flags = (*DEVICES["cuda-cpu"].count_flags, OF_LAB, *["-fsanitize-coverage=no-prune"] * (plain.kind == "clang"))
        found = find_toolchain(compiler, flags, "cuda-cpu")
    except LltmInlineError as error:
        raise InfraError(f"submissions cannot be compiled: {error}") from error
    ldflags = (*(flag for flag in found.ldflags if flag != ALL_DEFINED), *_WATCHED)
    return replace(found, ldflags=ldflags)


def runtime_of(toolchain: Toolchain) -> Build:
    """Build what runs, checks and counts the kernels of CUDA texts: a library that no text has a part in."""
    own = replace(toolchain, ldflags=tuple(flag for flag in toolchain.ldflags if flag not in _WATCHED))
    text = prelude_text(_OF_RUNTIME, apart=True) + runtime_text(_OF_RUNTIME)
    return run_jobs([Job("the runtime of CUDA texts", text, None, {}, own)], False)[0]


def build(kernel: Kernel, op: Op, toolchain: Toolchain, forbid: Sequence[str], *, trust: bool = False) -> Library:
    """Compile a text, unless this was done before.

    Args:
        kernel: the text.
        op: what it computes.
        toolchain: see `toolchain_of`.
        forbid: see `complaint_of_library`.
        trust: compile also where a lock is missing.

    Raises:
        Refused: there is no library, or it calls what is closed to it.
        InfraError: the machine failed, not the text.
    """
    key = _key(kernel, op, toolchain)
    try:
        with cache.lock(key):
            made = _made(key, kernel)
            if made is None:
                made = _compile(key, kernel, op, toolchain, trust)
    except (OSError, CacheError) as error:
        raise InfraError(f"what was compiled cannot be kept: {error}") from error
    complaint = complaint_of_library(made.path, ("aten", *forbid) if kernel.cuda else forbid, cuda=bool(kernel.cuda))
    if complaint:
        raise Refused("forbidden", complaint)
    return Library(kernel, blind(op), toolchain, made)


def _key(kernel: Kernel, op: Op, toolchain: Toolchain) -> str:
    """Return the digest of all that a library depends on."""
    fields = [
        f"{name}={getattr(kernel, name)!r}" for name in ("name", "cpp", "cuda", "saves", "functions", "api", "flags")
    ]
    tables = [repr(sorted(kernel.params.items())), repr(sorted(kernel.slots.items()))]
    of_op = [op.schema, repr(sorted(op.shapes.items())), repr(op.dtypes), repr(op.differentiable)]
    return cache.digest(
        *("lab", __version__, fields, tables, of_op),
        *(toolchain.identity, toolchain.cflags, toolchain.ldflags, _platform_identity()),
        *([prelude_text(_OF_RUNTIME)] if kernel.cuda else []),
    )


def _made(key: str, kernel: Kernel) -> Build | None:
    """Return what was built before, where it is still what was looked at."""
    manifest, path = cache.read_manifest(key, "lab"), cache.cache_dir() / "lab" / key / cache.LIBRARY
    if manifest is None or not cache.is_whole(path, manifest["sha256"]):
        return None
    cache.touch(path.parent)
    return Build(kernel.label, path, 0.0, True, (), "", key, manifest["namespace"], "", manifest["sha256"])


def refusal_of_nvcc(library: Library, compiler: str | None, *, trust: bool = False) -> str:
    """Say what nvcc has against a CUDA text; nothing where it takes it, and where this machine has no nvcc."""
    try:
        toolchain = find_toolchain(compiler, None, "cuda", compile_only=True)
    except ToolchainError:
        return ""
    key = _key(library.kernel, library.op, toolchain)
    try:
        with cache.lock(key), cache.workspace(key) as directory:
            _told(library.kernel, library.op, toolchain, directory, trust)
    except Refused as refused:
        return f"nvcc does not take it: {refused.reason}"
    return ""


def _told(kernel: Kernel, op: Op, toolchain: Toolchain, directory: Path, trust: bool) -> dict[str, str]:
    """Have a text compiled behind the locks, and return what is said of it.

    Raises:
        Refused, InfraError: as for `build`.
    """
    task = BuildTask(kernel, blind(op), toolchain, str(directory), _readable(toolchain), trust)
    with Locked(task, _BUILD_OUTPUT) as builder:
        try:
            answer = builder.receive(0, task.seconds * _BUSY)
        except Gone as gone:  # of the builder, which is ours: only what it prints is the text's
            if "prints more" in gone.reason:
                raise Refused("builds", f"cannot be compiled: its compiler {gone.reason}") from None
            raise InfraError(f"the process that compiles {gone.reason}") from None
    told: dict[str, str] = json.loads(answer.text)
    if not answer.raised:
        return told
    if told["stage"] == "machine":
        raise InfraError(f"nothing can be compiled here: {told['reason']}")
    raise Refused(told["stage"], told["reason"])


def _compile(key: str, kernel: Kernel, op: Op, toolchain: Toolchain, trust: bool) -> Build:
    with cache.workspace(key) as directory:
        told = _told(kernel, op, toolchain, directory, trust)
        library = directory / cache.LIBRARY
        if library.is_symlink() or not library.is_file():
            raise InfraError("the builder has left no library")
        # For the next text: made of our own headers, outside.
        if told["prelude"] and not os.environ.get("LLTM_INLINE_NO_HEADER"):
            header.header_flags(toolchain, told["prelude"])
        sha256 = cache.hash_file(library)
        for rest in directory.iterdir():
            if rest != library:
                rest.unlink()
        manifest = {"ok": True, "kernel": f"{kernel.name} (lab)", "namespace": told["namespace"], "sha256": sha256}
        cache.write_manifest(directory, manifest)
        path = cache.publish(directory, "lab", key) / cache.LIBRARY
    cache.prune(max_bytes=2**30, rooms=("lab",))  # of all labs, by last use
    return Build(kernel.label, path, 0.0, False, (), toolchain.version, key, told["namespace"], "", sha256)


def _readable(toolchain: Toolchain) -> tuple[str, ...]:
    """List what a compiler reads: programs, headers and libraries, of the system, of Python and of torch, and no other file there."""
    compilers = (Path(toolchain.compiler), Path(toolchain.compiler).resolve())
    prefixes = dict.fromkeys((Path("/"), Path("/usr"), *(compiler.parent.parent for compiler in compilers)))
    places = [place for prefix in prefixes for pattern in _OF_PREFIX for place in prefix.glob(pattern)]
    places += [Path(shutil.which("ninja", path=ninja_directory()) or "/usr/bin/ninja"), Path(header.python_include())]
    ours = (Path(torch.__file__).parent, Path(__file__).parents[1], cache.cache_dir() / "headers")
    nvcc = (Path(toolchain.nvcc.path), Path(toolchain.nvcc.home)) if toolchain.nvcc else ()
    places += [*compilers, *map(Path, _SYSTEM), *ours, *nvcc]
    return tuple(dict.fromkeys(str(place) for place in places if place.exists()))
