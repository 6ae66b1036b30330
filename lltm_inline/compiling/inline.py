"""The one place that calls `torch.utils.cpp_extension.load_inline`, and what it takes to do so safely.

Where a text is only to be compiled, and not linked, the compilers are called without it: on a machine without a GPU
`load_inline` takes no CUDA text.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..base.device import OF_LAB
from ..base.files import UTF8
from ..base.flags import STANDARD
from ..diagnosis.compiler_log import demangle
from ..errors import ToolchainError
from . import cache, environment, header, light
from .nvcc import Nvcc, write_stand_ins
from .toolchain import ALL_DEFINED, ninja_directory

if TYPE_CHECKING:
    from .job import Job


def _fresh_namespace(key: str) -> str:
    """Name the operators of one build. torch never forgets a name, so a second build of the same text takes another."""
    return f"li_{key}_{secrets.token_hex(3)}"


_NAMESPACE = re.compile(r"li_[0-9a-f]{24}_[0-9a-f]{6}")


def is_ours(name: str) -> bool:
    """Tell whether a module of this name is built by this package."""
    return bool(_NAMESPACE.fullmatch(name))


def compile_job(job: Job, directory: Path, objects: Sequence[Path] = ()) -> tuple[str, str]:
    """Make the result of a job in `directory`; return the namespace of a library, and the command that was run with what it printed.

    Args:
        job, directory: what is compiled, and where.
        objects: object files that are linked, too.

    Raises:
        RuntimeError: a compiler or the linker failed; the message is what it said.
    """
    if job.only == "ptx":
        return "", _compile_ptx(job, directory)
    if job.only == "object":
        return "", _with_header(job, partial(_compile_whole_object, directory=directory))
    if job.only == "remarks":
        return "", _with_header(job, partial(_compile_remarks, directory=directory))

    def link(job: Job, precompiled: Sequence[str]) -> tuple[str, str]:
        whole, ldflags = [*objects, *_runtime(job, precompiled)], job.toolchain.ldflags
        empty = _stubs(job, precompiled)
        flags = (*empty, *(flag for flag in ldflags if flag != ALL_DEFINED)) if empty else ldflags
        namespace, command = _call_load_inline(job, directory, precompiled, whole, flags)
        if empty and ALL_DEFINED in ldflags:
            library = f"{namespace}.so"
            if not header.torch_has_what_is_missing_in(directory / library):
                _link_with_torch(job, directory, whole, library)
        return namespace, command

    namespace, command = _with_header(job, link)
    (directory / f"{namespace}.so").rename(directory / cache.LIBRARY)
    for leftover in directory.glob("*.o"):
        leftover.unlink()
    return namespace, command


def preprocess(job: Job, directory: Path, result: str) -> str:
    """Write down a C++ text as its compiler has it; return the namespace of a library that is made of that.

    Raises:
        RuntimeError: as for `compile_job`.
    """
    namespace = _fresh_namespace(job.key)
    _write(directory / "main.cpp", job.text)
    flags = [*header.torch_cflags(job.prelude or ""), f"-DTORCH_EXTENSION_NAME={namespace}", *job.cflags]
    _run([job.toolchain.compiler, *flags, "-E", "main.cpp", "-o", result], directory)
    return namespace


def _runtime(job: Job, precompiled: Sequence[str]) -> tuple[Path, ...]:
    """Return the objects without which what was compiled with a precompiled header is not whole."""
    whole = not (job.prelude and precompiled) or OF_LAB in job.cflags
    return () if whole else header.header_objects(job.toolchain, job.prelude or "")


def _stubs(job: Job, precompiled: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that link without reading all names of torch, where what must be defined can be looked up afterwards."""
    if not (job.prelude and precompiled) or job.toolchain.nvcc:
        return ()
    if ALL_DEFINED in job.toolchain.ldflags and not shutil.which(header.READER):
        return ()
    return header.stub_flags(job.toolchain, job.prelude)


def _link_with_torch(job: Job, directory: Path, objects: Sequence[Path], library: str) -> None:
    """Link as `load_inline` does, for the linker to say what is undefined and where."""
    import torch

    libraries = [f"-L{torch.__path__[0]}/lib", *(f"-l{name}" for name in header.LIBRARIES)]
    command = [job.toolchain.compiler, "main.o", "-shared", *map(str, objects), *job.toolchain.ldflags, *libraries]
    _run([*command, "-o", library], directory)


def _write(path: str | Path, text: str) -> None:
    """Write what a compiler or ninja reads, paths of any encoding among it, as the bytes that they are."""
    Path(path).write_text(text, encoding="utf-8", errors="surrogateescape")


_Result = TypeVar("_Result")


def _with_header(job: Job, compile: Callable[[Job, Sequence[str]], _Result]) -> _Result:
    """Compile with torch's headers light or whole, and with the flags of the precompiled header, if there is one.

    A damaged or outdated header (a system header was upgraded) does not keep a kernel from being built: it is thrown
    away, and the text is compiled without.
    """

    def with_either(job: Job) -> _Result:
        precompiled = header.header_flags(job.toolchain, job.prelude, begin=False) if job.prelude else ()
        if precompiled:
            try:
                return compile(job, precompiled)
            except RuntimeError as error:
                if not header.is_cause_of(str(error)):
                    raise
            header.discard(job.toolchain, job.prelude or "")
        try:
            if light.flags(job.prelude or ""):
                with suppress(RuntimeError):  # a mistake of the text, too, is told with all names known
                    return compile(light.named(job), ())
            return compile(job, ())
        finally:  # not beside the text, which it would slow down by half, whatever its rank
            if job.prelude:
                header.header_flags(job.toolchain, job.prelude)

    return light.compiled(job, with_either)


def _compile_ptx(job: Job, directory: Path) -> str:
    nvcc = job.toolchain.nvcc
    assert nvcc is not None
    _write(directory / "cuda.cu", job.cuda)
    stand_ins = directory / "stand-ins"
    write_stand_ins(stand_ins)
    # Names without a directory: nvcc hands them to a shell, which would read the cache's path in its own way.
    command = ptx_command(nvcc, job.toolchain.compiler, "cuda.cu", job.result, stand_ins.name)
    try:
        log = _run(command, directory)
    finally:
        shutil.rmtree(stand_ins, ignore_errors=True)
    return joined([log, _ask_ptxas(nvcc, job.result, directory)]) if any(map(_OF_PTXAS.match, nvcc.flags)) else log


#: What is for ptxas, to which nvcc hands no text that becomes PTX.
_OF_PTXAS = re.compile(r"--?res(?:ource)?-usage\Z|-Xptxas=|--ptxas-options=")


def _ask_ptxas(nvcc: Nvcc, ptx: str, directory: Path) -> str:
    """Translate PTX for the GPU that it is made for, for what is said meanwhile, such as the registers of each kernel."""
    cubin = "kernel.cubin"
    log = _run([nvcc.path, "-cubin", *nvcc.flags, ptx, "-o", cubin], directory)
    (directory / cubin).unlink()
    return log


def ptx_command(nvcc: Nvcc, compiler: str, source: str, output: str, stand_ins: str) -> list[str]:
    """Return the command that compiles a CUDA text to PTX, with torch's own flags and the headers of this torch.

    The paths must be plain words, as nvcc hands them to a shell.
    """
    from torch.utils import cpp_extension

    common = [flag for flag in header.torch_cflags() if flag not in ("-fPIC", STANDARD)]
    return [
        nvcc.path,
        "-ptx",
        f"-ccbin={compiler}",
        *common,
        *cpp_extension.COMMON_NVCC_FLAGS,
        *(flag for flag in nvcc.flags if not _OF_PTXAS.match(flag)),
        f"-Xcompiler=-idirafter,{stand_ins}",
        source,
        "-o",
        output,
    ]


def _compile_object(job: Job, precompiled: Sequence[str], directory: Path) -> str:
    _write(directory / "main.cpp", job.text)
    flags = [*shlex.split(" ".join(precompiled)), *header.torch_cflags(job.prelude or ""), *job.cflags]
    return _run([job.toolchain.compiler, *flags, "-c", "main.cpp", "-o", job.result], directory)


def _compile_whole_object(job: Job, precompiled: Sequence[str], directory: Path) -> str:
    """Compile, and put into the object what has been compiled beside the precompiled header."""
    log = _compile_object(job, precompiled, directory)
    runtime = _runtime(job, precompiled)
    if runtime:
        whole = directory / "whole.o"
        _run([job.toolchain.compiler, "-r", "-nostdlib", job.result, *map(str, runtime), "-o", whole.name], directory)
        whole.rename(directory / job.result)
    return log


#: What g++ prints of a loop that it could not vectorise is the last thing that it tried; the first is in the dump.
_VECTORISER = "vectoriser.txt"
_REMARKS = {
    "gcc": ("-fopt-info-loop-inline-optimized-missed", f"-fdump-tree-vect-optimized-missed={_VECTORISER}"),
    "clang": tuple(f"-Rpass{how}=loop-vectorize|loop-unroll|inline" for how in ("", "-missed", "-analysis")),
}


def _compile_remarks(job: Job, precompiled: Sequence[str], directory: Path) -> str:
    """Compile for what the compiler says that it did; of that, keep the lines about the user's texts, which are few."""
    told = replace(job, flags=(*job.flags, *_REMARKS[job.toolchain.kind]), only="object")
    command, _, printed = _compile_object(told, precompiled, directory).partition("\n\n")
    lines, dump = printed.splitlines(), directory / _VECTORISER
    if dump.exists():
        lines = [line for line in lines if ": optimized: " in line or " inlinable: " in line]
        lines += [
            line
            for line in dump.read_text(encoding="utf-8", errors="replace").splitlines()
            if " alias required: " not in line
        ]
        dump.unlink()
    own = tuple(f"{name}:" for name in job.sources)
    _write(directory / job.result, "".join(f"{line}\n" for line in lines if line.startswith(own)))
    (directory / "main.o").unlink()
    return command


def _run(command: Sequence[str], directory: Path) -> str:
    """Run a compiler; return the command as one would type it, and what it printed."""
    done = subprocess.run(command, cwd=directory, capture_output=True, env={**os.environ, "LC_ALL": "C"}, **UTF8)
    if done.returncode:
        killed = f"\nKilled signal terminated program {command[0]}" if done.returncode < 0 else ""
        raise RuntimeError(f"{done.stderr}{done.stdout}{killed}")
    return _log_of(shlex.join(command), f"{done.stderr}{done.stdout}")


def _log_of(commands: str, printed: str) -> str:
    """Put what compilers printed behind the commands and an empty line; ninja's own lines are left out.

    ptxas names a kernel as the linker knows it: here it is as the text has it.
    """
    lines = [line for line in printed.splitlines() if not _OF_NINJA.match(line)]
    lines = [_SYMBOL.sub(lambda name: demangle(name[0]), line) if "ptxas" in line else line for line in lines]
    return "\n\n".join(filter(None, (commands, "\n".join(lines).strip())))


def joined(logs: Sequence[str]) -> str:
    """Put the logs of what was compiled apart into one."""
    commands, _, printed = zip(*(log.partition("\n\n") for log in logs), strict=True)
    return _log_of("\n".join(commands), "\n".join(printed))


_OF_NINJA = re.compile(r"\[\d+/\d+\] |ninja: ")
_SYMBOL = re.compile(r"\b_Z\w+")


def _call_load_inline(
    job: Job, directory: Path, precompiled: Sequence[str], objects: Sequence[Path], ldflags: Sequence[str]
) -> tuple[str, str]:
    import torch
    from torch.utils import cpp_extension

    namespace, nvcc = _fresh_namespace(job.key), job.toolchain.nvcc
    # -pipe: what the parts of g++ hand to each other would lie in the system's directory for temporary files, and stay there
    # when they are killed.
    torchs = map(shlex.quote, light.flags(job.prelude or ""))
    flags = ["-pipe", STANDARD, *torchs, *precompiled, *job.cflags]
    for path in (torch.__path__[0], header.python_include()):
        if "$" in path:
            raise ToolchainError(
                f"{path} holds a '$', which ninja misreads: no kernel can be built here. Move it elsewhere"
            )
    with _torch_settings(job), _listening(directory) as printed:
        cpp_extension.load_inline(
            name=namespace,
            cpp_sources=[job.text],
            cuda_sources=[job.cuda] if nvcc else None,
            extra_cflags=flags,
            extra_cuda_cflags=list(nvcc.flags) if nvcc else None,
            extra_ldflags=[*(shlex.quote(str(path)) for path in objects), *ldflags],
            build_directory=str(directory),
            is_python_module=job.python_module,
            no_implicit_headers=True,
        )
    command = " ".join([job.toolchain.compiler, *flags])
    commands = f"{command}\n{' '.join([nvcc.path, *nvcc.flags])}" if nvcc else command
    return namespace, _log_of(commands, "".join(printed))


@contextmanager
def _listening(directory: Path) -> Iterator[list[str]]:
    """Collect what the compilers print that ninja runs in a directory: where all goes well, torch throws it away."""
    printed = _printed[str(directory)] = []
    try:
        yield printed
    finally:
        del _printed[str(directory)]


_printed: dict[str, list[str]] = {}


_settings = threading.Condition()
_users: dict[tuple[str, ...], int] = {}
#: Takes back what was set, when the last of them has left.
_entered = ExitStack()


@contextmanager
def _torch_settings(job: Job) -> Iterator[None]:
    """Set what `load_inline` takes from the environment, shared by builds that agree and one after another otherwise.

    CXX chooses the compiler (CC the one that nvcc reads headers with), PATH finds ninja, LC_ALL makes the compiler speak the
    language that we parse. And torch's own precompiled header stays: `load_inline` deletes it from site-packages, or fails
    where that is read-only. Nor is what was built loaded: a library may crash when it is, and the worker is to see that first.
    """
    nvcc = job.toolchain.nvcc
    compilers = (job.toolchain.compiler, nvcc.path if nvcc else "")
    with _settings:
        _settings.wait_for(lambda: not _users or compilers in _users)
        if not _users:
            _enter(job)
        _users[compilers] = _users.get(compilers, 0) + 1
    try:
        yield
    finally:
        with _settings:
            _users[compilers] -= 1
            if not _users[compilers]:
                _users.clear()
                _entered.close()
                _settings.notify_all()


def _enter(job: Job) -> None:
    from torch.utils import cpp_extension

    ninja, nvcc, load = ninja_directory(), job.toolchain.nvcc, cpp_extension._import_module_from_library
    path = environment.users("PATH") or ""
    cuda = {"CC": job.toolchain.compiler, "PYTORCH_NVCC": shlex.quote(nvcc.path)} if nvcc else {}
    environment.override(
        CXX=job.toolchain.compiler,
        LC_ALL="C",
        PATH=f"{ninja}{os.pathsep}{path}" if ninja else path,
        TORCH_DONT_CHECK_COMPILER_ABI="1",  # find_toolchain has looked at the compiler; this saves a run of it
        **cuda,
    )
    ours = {
        "remove_extension_h_precompiler_headers": lambda: None,
        # What another thread builds with `load_inline` is loaded as ever.
        "_import_module_from_library": lambda name, *rest: None if is_ours(name) else load(name, *rest),
        "_run_ninja_build": _heard(cpp_extension._run_ninja_build),
        # Those of torch: in the encoding of the locale, and a path that a shell is handed as it stands.
        "_maybe_write": _write,
        "TORCH_LIB_PATH": shlex.quote(cpp_extension.TORCH_LIB_PATH),
        # torch looks for CUDA once, when it is imported, and takes a script on PATH for an installation.
        **({"CUDA_HOME": nvcc.home} if nvcc else {}),
    }
    _entered.callback(environment.restore)
    for name, value in ours.items():
        _entered.callback(setattr, cpp_extension, name, getattr(cpp_extension, name))
        setattr(cpp_extension, name, value)


def _heard(run: Callable[..., None]) -> Callable[..., None]:
    """Run ninja as torch does and keep what it prints; where another thread calls `load_inline`, it is torch that runs it."""

    def heard(build_directory: str, verbose: bool, error_prefix: str) -> None:
        from torch.utils import cpp_extension

        if build_directory not in _printed:
            return run(build_directory, verbose, error_prefix)
        cache.close_again(Path(build_directory))  # before another build of this process looks at it
        workers = cpp_extension._get_num_workers(verbose)
        command = ["ninja", "-v", *(["-j", str(workers)] if workers is not None else [])]
        done = subprocess.run(
            command,
            cwd=build_directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **UTF8,
            env={**os.environ, "NINJA_STATUS": "[%f/%t] "},  # by which its own lines are known
        )
        if done.returncode:
            raise RuntimeError(f"{error_prefix}: {done.stdout}")
        _printed[build_directory].append(done.stdout)

    return heard
