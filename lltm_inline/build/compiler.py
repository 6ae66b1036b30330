"""Turns kernels into shared libraries: `load_inline` under our cache, locks and flags.

kernel -> Job (text, flags, digest) -> cache hit, or load_inline in a temporary directory -> published entry -> Build
"""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, overload

from ..errors import BuildError, DefinitionError, LltmInlineError, SignatureError
from ..progress import Progress, showing
from ..registry import Kernel, diff, fit, registry
from ..signature import Problem, mask
from ..template import Rendered, render
from ..version import __version__
from . import cache
from .bridge import bridge_text
from .diagnostics import Diagnostic, describe, parse
from .header import PASSING_FAILURES
from .inline import load_inline
from .toolchain import Toolchain, find_toolchain


@dataclass(frozen=True)
class Job:
    """One text to be compiled, with everything that could change the result."""

    label: str
    text: str
    prelude: str | None
    sources: Mapping[str, str]
    toolchain: Toolchain
    flags: tuple[str, ...] = ()
    python_module: bool = False
    parent: str = ""

    @cached_property
    def key(self) -> str:
        """The digest under which the result is cached."""
        return cache.digest(
            "kernel",
            self.text,
            "module" if self.python_module else "library",
            self.toolchain.identity,
            self.cflags,
            self.toolchain.ldflags,
            [os.environ.get(name, "") for name in ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")],
            _platform_identity(),
        )

    @property
    def cflags(self) -> tuple[str, ...]:
        return (*self.toolchain.cflags, *self.flags)


@lru_cache(maxsize=1)
def _platform_identity() -> tuple[str, ...]:
    """Everything outside of text and compiler that a library depends on: torch and its ABI, Python, the processor."""
    import torch

    return (
        torch.__version__,
        str(torch.version.git_version),
        str(torch.compiled_with_cxx11_abi()),
        str(torch.version.cuda),
        sys.version,
        str(sysconfig.get_config_var("SOABI")),
        platform.platform(),
        _processor(),
    )


def _processor() -> str:
    """Name the instruction set of this processor: `-march=native` means another thing on another one."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n")
    except OSError:
        return platform.processor()
    return "\n".join(
        next((line for line in lines if line.startswith(key)), "") for key in ("model name", "flags", "Features")
    )


@dataclass(frozen=True)
class Build:
    """A kernel's shared library.

    Attributes:
        kernel: label, `lltm/fused@2`.
        path: the library in the cache.
        seconds: how long this call took.
        cached: True when no compiler ran.
        flags: of compilation.
        compiler: `g++ 12.2.0`.
        digest: of everything that went in.
        namespace: under which its operators are registered.
        log: what compiler and linker printed.
        sha256: of the library, checked before every load.
    """

    kernel: str
    path: Path
    seconds: float
    cached: bool
    flags: tuple[str, ...]
    compiler: str
    digest: str
    namespace: str
    log: str
    sha256: str

    def __str__(self) -> str:
        how = "from the cache" if self.cached else f"built with {self.compiler}"
        return f"{self.kernel}: {how} in {self.seconds:.2f} s  ({' '.join(self.flags)})"


@overload
def build(
    kernel: Kernel | str,
    *,
    compiler: str | None = ...,
    cflags: Sequence[str] | None = ...,
    progress: Progress | bool | None = ...,
) -> Build: ...
@overload
def build(
    kernel: list[Kernel | str] | list[Kernel] | list[str],
    *,
    compiler: str | None = ...,
    cflags: Sequence[str] | None = ...,
    progress: Progress | bool | None = ...,
) -> list[Build]: ...
def build(
    kernel: Kernel | str | list[Kernel | str] | list[Kernel] | list[str],
    *,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
) -> Build | list[Build]:
    """Compile a kernel, or several in parallel, unless the cache has them.

    Args:
        kernel: a kernel or its label; a list builds in parallel.
        compiler: name or path, else the environment's CXX, else g++.
        cflags: in place of the default optimisation flags, one item per flag.
        progress: called with each step; False for silence, None for a live line after one second.

    Returns:
        A `Build`, or a list in the order of the kernels.

    Raises:
        BuildError: the text does not compile, link or load; `.diagnostics` has the errors in the user's own lines.
        SignatureError: `forward` or `backward` does not fit the op; nothing was compiled.
        ToolchainError: no compiler or no ninja.
        CacheError: the cache directory cannot be used.

    Example:
        >>> build("lltm/stable").path.name
        'library.so'
    """
    toolchain = find_toolchain(compiler, cflags)
    kernels = [kernel] if isinstance(kernel, Kernel | str) else kernel
    jobs = [make_job(resolve(item), toolchain) for item in kernels]
    # The bridge is made in the same go, so that the first `load` on a machine does not wait for it afterwards.
    bridge = [] if all(job.python_module for job in jobs) else [bridge_job(toolchain)]
    builds = run_jobs([*jobs, *bridge], progress)[: len(jobs)]
    return builds[0] if isinstance(kernel, Kernel | str) else builds


def resolve(kernel: Kernel | str) -> Kernel:
    """Return the kernel itself or the registry's kernel of that label."""
    return registry[kernel] if isinstance(kernel, str) else kernel


def make_job(kernel: Kernel, toolchain: Toolchain) -> Job:
    """Render a kernel and check its signature; nothing is compiled yet.

    Raises:
        SignatureError: `forward` or `backward` does not fit the op.
        DefinitionError: the kernel has no C++ text, or saves what the op has not.
    """
    if kernel.python is not None:
        raise DefinitionError(f"kernel {kernel.label!r} is a Python function: there is nothing to build")
    if not kernel.cpp:
        raise DefinitionError(f"kernel {kernel.label!r} has no cpp text: device 'cpu' needs one")
    op = registry.op_of(kernel)
    fit(kernel, op)
    rendered = render(kernel, op)
    if rendered.interface.problems:
        raise _signature_error(kernel, rendered, toolchain)
    module = "PYBIND11_MODULE" in mask(rendered.text)
    if module or rendered.prelude == "extension":  # Python's own symbols are undefined until it loads the library
        ldflags = tuple(flag for flag in toolchain.ldflags if flag != "-Wl,-z,defs")
        toolchain = Toolchain(
            toolchain.compiler, toolchain.kind, toolchain.version, toolchain.identity, toolchain.cflags, ldflags
        )
    prelude = None if kernel.flags else rendered.prelude
    return Job(kernel.label, rendered.text, prelude, rendered.sources, toolchain, kernel.flags, module, kernel.parent)


def bridge_job(toolchain: Toolchain) -> Job:
    """Return the job of the autograd bridge: compiled once per compiler, whatever the flags of the kernels are."""
    # -O1: of the microsecond that it takes per call, more optimisation saves nothing, and costs a second of the first build.
    return Job("autograd bridge", bridge_text(), None, {}, find_toolchain(toolchain.compiler, ("-O1",)))


def run_jobs(jobs: Sequence[Job], progress: Progress | bool | None = None) -> list[Build]:
    """Build all jobs, in parallel where the cache does not have them; Ctrl-C stops the compilers and leaves no trace."""
    builds: dict[str, Build] = {}
    missing: dict[str, Job] = {}
    for job in jobs:
        started = time.perf_counter()
        cached = _cached(job, started, warn=True)
        if cached is None:
            missing[job.key] = job
        else:
            builds[job.key] = cached
    if missing:
        builds |= _compile_all(missing, progress)
    return [builds[job.key] for job in jobs]


def _compile_all(jobs: Mapping[str, Job], progress: Progress | bool | None) -> dict[str, Build]:
    cache.sweep()
    stop = threading.Event()
    names = ", ".join(job.label for job in jobs.values())
    workers = _workers()
    with (
        showing(f"building {names}", progress),
        ThreadPoolExecutor(workers, thread_name_prefix="lltm_inline build") as pool,
    ):
        futures: dict[str, Future[Build]] = {key: pool.submit(_build_one, job, stop) for key, job in jobs.items()}
        try:
            pending = set(futures.values())
            while pending:  # in short steps, so that Ctrl-C is taken at once
                pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION).not_done
        except BaseException:
            stop.set()
            for future in futures.values():
                future.cancel()
            while not all(future.done() for future in futures.values()):
                _kill_compilers()
                wait(futures.values(), timeout=0.05)
            raise
    return {key: future.result() for key, future in futures.items()}


def _workers() -> int:
    """Return how many compilers may run at once: MAX_JOBS, or the processors that this process may use."""
    jobs = os.environ.get("MAX_JOBS", "")
    return max(1, int(jobs) if jobs.isdigit() else len(os.sched_getaffinity(0)))


def _kill_compilers() -> None:
    """Kill the ninja and compiler processes that this process started in its workspaces."""
    import psutil

    inside = os.path.realpath(cache.cache_dir() / "tmp")
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cwd().startswith(inside):
                process.kill()
        except psutil.Error:  # it has ended by itself
            continue


def _cached(job: Job, started: float, *, warn: bool = False) -> Build | None:
    """Return the cached build, raise the remembered failure, or return None."""
    manifest = cache.read_manifest(job.key)
    if manifest is None or (not manifest["ok"] and manifest.get("version") != __version__):
        return None  # what another version made of a compiler's words is not this one's
    directory = cache.cache_dir() / "kernels" / job.key
    cache.touch(directory)
    if not manifest["ok"]:
        log_file = directory / "log.txt"
        diagnostics = [Diagnostic.from_dict({**item, "kernel": job.label}) for item in manifest["diagnostics"]]
        raise _build_error(job, diagnostics, log_file.read_text() if log_file.exists() else "")
    library = directory / cache.LIBRARY
    if not library.exists() or cache.hash_file(library) != manifest["sha256"]:
        if warn:
            warnings.warn(
                f"the cached library of {job.label!r} is not what was built; building it anew",
                RuntimeWarning,
                stacklevel=4,
            )
        return None
    return _as_build(job, manifest, library, started, cached=True)


def _as_build(job: Job, manifest: Mapping[str, Any], library: Path, started: float, *, cached: bool) -> Build:
    return Build(
        kernel=job.label,
        path=library,
        seconds=time.perf_counter() - started,
        cached=cached,
        flags=job.cflags,
        compiler=job.toolchain.version,
        digest=job.key,
        namespace=manifest["namespace"],
        log=manifest["log"],
        sha256=manifest["sha256"],
    )


def _build_one(job: Job, stop: threading.Event) -> Build:
    """Compile one job under its lock and publish what came of it."""
    started = time.perf_counter()
    with cache.lock(job.key, cancelled=stop.is_set):
        cached = _cached(job, started)  # another process may have built it while this one waited
        if cached is not None:
            return cached
        with cache.workspace(job.key) as directory:
            try:
                namespace, log = load_inline(job, directory)
            except LltmInlineError:
                raise  # no ninja, no cache: not the text's fault
            except (RuntimeError, OSError, ImportError) as error:
                if stop.is_set():
                    raise KeyboardInterrupt from None
                failure = _failure(job, str(error))
                _remember_failure(job, failure, directory)
                raise failure from None
            library = directory / cache.LIBRARY
            (directory / f"{namespace}.so").rename(library)
            for leftover in directory.glob("main.o"):
                leftover.unlink()
            manifest = {
                "ok": True,
                "kernel": job.label,
                "namespace": namespace,
                "sha256": cache.hash_file(library),
                "compiler": job.toolchain.version,
                "flags": job.cflags,
                "seconds": time.perf_counter() - started,
                "log": log,
            }
            cache.write_manifest(directory, manifest)
            published = cache.publish(directory, "kernels", job.key)
    return _as_build(job, manifest, published / cache.LIBRARY, started, cached=False)


def _failure(job: Job, log: str) -> BuildError:
    return _build_error(job, parse(log, label=job.label, sources=job.sources), log)


def _build_error(job: Job, diagnostics: Sequence[Diagnostic], log: str) -> BuildError:
    import torch

    try:
        changed = diff(job.parent, job.label).changed_lines if job.parent else None
    except LltmInlineError:  # a kernel that was never registered
        changed = None
    message = describe(
        job.label,
        diagnostics,
        compiler=job.toolchain.version,
        torch_version=torch.__version__,
        parent=job.parent,
        changed_lines=changed,
        log=log,
    )
    return BuildError(message, kernel=job.label, diagnostics=diagnostics, log=log)


def _remember_failure(job: Job, failure: BuildError, directory: Path) -> None:
    """Publish a failed build as its diagnostics, unless the machine and not the text was at fault."""
    passing = (*PASSING_FAILURES, "No such file or directory", "file not found")  # a header may be installed any time
    if not failure.diagnostics or any(word in failure.log for word in passing):
        return
    for file in directory.iterdir():
        file.unlink()
    (directory / "log.txt").write_text(failure.log)
    manifest = {
        "ok": False,
        "version": __version__,
        "kernel": job.label,
        "diagnostics": [item.to_dict() for item in failure.diagnostics],
    }
    cache.write_manifest(directory, manifest)
    cache.publish(directory, "kernels", job.key)


def _signature_error(kernel: Kernel, rendered: Rendered, toolchain: Toolchain) -> SignatureError:
    from .diagnostics import excerpt_of

    def diagnostic(problem: Problem) -> Diagnostic:
        excerpt = excerpt_of(rendered.sources.get(problem.file, ""), problem.line, problem.column)
        return Diagnostic(
            kernel.label,
            problem.file,
            problem.line,
            problem.column,
            "error",
            problem.message,
            (),
            excerpt,
            problem.help,
        )

    diagnostics = tuple(map(diagnostic, rendered.interface.problems))
    lines = [f"kernel {kernel.label!r} does not fit op {kernel.op!r}; nothing was compiled"]
    for item in diagnostics:
        lines += [f"  {kernel.label}:{item.line}:{item.column}: {item.message}", item.excerpt, f"  {item.help}"]
    return SignatureError("\n".join(filter(None, lines)), kernel=kernel.label, diagnostics=diagnostics)
