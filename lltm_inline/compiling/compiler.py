"""Turns kernels into shared libraries: `load_inline` under our cache, locks and flags.

kernel -> Job (text, flags, digest) -> cache hit, or load_inline in a temporary directory -> published entry -> Build

For device `cuda` a job holds two texts. Without a GPU they can be compiled all the same (`compile_only`), each by its own
job: so an edit of the CUDA text does not compile the C++ text again.
"""

from __future__ import annotations

import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from ..base.above import Shown
from ..base.arguments import boolean, plural, refusal, require_choices
from ..base.device import DEVICES
from ..base.files import UTF8
from ..base.processors import processors
from ..base.progress import Progress, showing
from ..base.stop import raise_if_stopped
from ..base.trace import shorten
from ..diagnosis.diagnostics import Diagnostic, parse
from ..errors import BuildError, CacheError, InputError, LltmInlineError
from ..model.outcomes import noting
from ..model.registry import Kernel, resolve
from ..source.template import DECLARED, require_text
from ..version import __version__
from . import cache, header, light
from .failures import (
    endless_failure,
    failure_of,
    filesystem_failure,
    passing_failure,
    refuse_devices,
    remember_failure,
    remembered_failure,
)
from .inline import compile_job, joined
from .job import Job, compile_checks, helper_job, make_job
from .toolchain import find_toolchain
from .watch import Attempt, enforce, kill_compilers

#: How long one text may take to compile (a wait for another process does not count), and how much memory its compilers may hold
#: together: far more than any kernel of the playground needs, and an end for those that would never end.
BUILD_SECONDS = 600.0
BUILD_BYTES = float(8 * 2**30)
#: Colours and links for a terminal: ninja writes them wherever CLICOLOR_FORCE is set, as it is in every notebook's kernel.
_COLOURS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")

__all__ = ["Build", "Job", "build", "make_job", "resolve", "run_jobs", "verify"]


@dataclass(frozen=True)
class Build(Shown):
    """A kernel's shared library, or the PTX of a kernel that was only compiled.

    Attributes:
        kernel: label, `lltm/fused@2`.
        path: the library (or PTX) in the cache.
        seconds: how long this call took.
        cached: True when no compiler ran.
        flags: of compilation; nvcc's for a CUDA kernel.
        compiler: `g++ 12.2.0`.
        digest: of everything that went in.
        namespace: under which its operators are registered.
        log: the commands, and after an empty line what compiler and linker printed: warnings, remarks.
        sha256: of the library, checked before every load.
        warnings: those that point to a mistake, at the user's own lines.
    """

    kernel: str
    path: Path
    seconds: float = field(compare=False)  # another call of the same build takes another time
    cached: bool = field(compare=False)
    flags: tuple[str, ...]
    compiler: str
    digest: str
    namespace: str
    log: str
    sha256: str
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def printed(self) -> str:
        """What the compilers printed, without the commands."""
        return _printed_in(self.log)

    @property
    def steps(self) -> dict[str, float]:
        """Seconds of each file that ninja had made when this was built; what `seconds` has beside them is not the compiler's.

        Nothing where ninja was not asked, as for PTX.
        """
        log = self.path.with_name(".ninja_log")
        rows = [row.split("\t") for row in log.read_text(**UTF8).splitlines()[1:]] if log.exists() else []
        return {cache.LIBRARY if row[3].endswith(".so") else row[3]: (int(row[1]) - int(row[0])) / 1000 for row in rows}

    def __str__(self) -> str:
        steps = "" if self.cached else "".join(f", {made} {seconds:.2f} s" for made, seconds in self.steps.items())
        how = "from the cache" if self.cached else f"built with {self.compiler}"
        lines = [
            f"{self.kernel}: {how} in {self.seconds:.2f} s{steps}  ({' '.join(self.flags)})",
            *map(str, self.warnings),
        ]
        if self.printed:
            count = plural(self.printed.count("\n") + 1, "line")
            lines.append(f"All that the compiler printed, {count}: print(build.printed)")
        return "\n".join(lines)

    __repr__ = __str__


def verify(build: Build) -> None:
    """Check that a library is the one that was built, right before it is loaded.

    Raises:
        CacheError: it is gone or its hash is another.
    """
    if not cache.is_whole(build.path, build.sha256):
        raise CacheError(
            f"the library of {build.kernel!r} in the cache was changed or removed after it was built ({build.path}). Build it again"
        )


class _Options(TypedDict, total=False):
    device: str
    compile_only: bool
    compiler: str | None
    cflags: Sequence[str] | None
    progress: Progress | bool | None


@overload
def build(kernel: Kernel | str, **options: Unpack[_Options]) -> Build: ...
@overload
def build(kernel: list[Kernel | str] | list[Kernel] | list[str], **options: Unpack[_Options]) -> list[Build]: ...
def build(
    kernel: Kernel | str | list[Kernel | str] | list[Kernel] | list[str],
    *,
    device: str = "cpu",
    compile_only: bool = False,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
) -> Build | list[Build]:
    """Compile a kernel, or several in parallel, unless the cache has them.

    Args:
        kernel: a kernel or its label; a list builds in parallel.
        device: `"cpu"`, or `"cuda"` for the kernel's CUDA source.
        compile_only: with `device="cuda"`, only see whether the sources compile. This needs nvcc, but no GPU and no CUDA build
            of torch. The result is PTX, for the first of TORCH_CUDA_ARCH_LIST or else sm_75, and cannot be loaded.
        compiler: name or path, else the environment's CXX, else g++.
        cflags: instead of the default optimisation flags, one item per flag.
        progress: called with each step; False for silence, None for a live line after one second.

    Returns:
        A `Build`, or a list in the order of the kernels.

    Raises:
        BuildError: the source does not compile or link, or takes longer than `BUILD_SECONDS` or more memory than `BUILD_BYTES`;
            `.diagnostics` has the errors in the user's own lines.
        SignatureError: `forward` or `backward` does not fit the op; nothing was compiled.
        TemplateError: the kernel's slots, or the launch functions of its CUDA source, cannot be rendered.
        DefinitionError: the kernel has no source for this device.
        InputError: no such device, or `compile_only` without CUDA.
        ToolchainError: no compiler or no ninja; for CUDA also no nvcc, no CUDA build of torch, or no GPU.
        CacheError: the cache directory cannot be used, is full, or was removed meanwhile.

    Example:
        >>> build("lltm/stable").path.name
        'library.so'
    """
    require_choices(device=device, compiler=compiler, cflags=cflags, progress=progress)
    if not isinstance(kernel, Kernel | str | list | tuple):
        raise refusal("kernel", kernel, "a Kernel, a label such as 'lltm/fused', or a list of these")
    kernels = [resolve(item) for item in ([kernel] if isinstance(kernel, Kernel | str) else kernel)]
    boolean("compile_only", compile_only)
    if compile_only and not DEVICES[device].needs_gpu:
        raise InputError("compile_only=True compiles the CUDA text of a kernel: say device='cuda' too")
    for item in kernels:  # before the machine is looked at
        require_text(item, device)
    toolchain = find_toolchain(compiler, cflags, device, compile_only=compile_only)
    with noting(kernels):
        jobs = [make_job(item, toolchain) for item in kernels]
        # With the bridge, so that the first `load` on a machine does not wait for it afterwards.
        bridge = [] if all(job.python_module for job in jobs) else [helper_job("bridge", toolchain)]
        builds = run_jobs(compile_checks(jobs) if compile_only else [*jobs, *bridge], progress)
    return builds[0] if isinstance(kernel, Kernel | str) else builds[: len(jobs)]


def run_jobs(
    jobs: Sequence[Job],
    progress: Progress | bool | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> list[Build]:
    """Build all jobs, in parallel where the cache does not have them; Ctrl-C stops the compilers and leaves no trace.

    Args:
        jobs: what to build. Of those that are to spare, what fails is left out of the result.
        progress: as for `build`.
        meanwhile: called once, in this thread, while the compilers run; not called where there is nothing to compile.
    """
    builds: dict[str, Build] = {}
    missing: dict[str, Job] = {}
    for job in jobs:
        started = time.perf_counter()
        with _spared(job):
            cached = _cached(job, started, warn=True)
            if cached is None:
                missing[job.key] = job
            else:
                builds[job.key] = cached
    if missing:
        builds |= _compile_all(missing, progress, meanwhile)
    return [builds[job.key] for job in jobs if job.key in builds]


def _spared(job: Job) -> AbstractContextManager[None]:
    """Enter a context that a job which is to spare may leave by failing."""
    return suppress(BuildError) if job.spare else nullcontext()


def _compile_all(
    jobs: Mapping[str, Job], progress: Progress | bool | None, meanwhile: Callable[[], None] | None
) -> dict[str, Build]:
    cache.sweep()
    stop = threading.Event()
    attempts: list[Attempt] = []
    names = ", ".join(dict.fromkeys(job.label for job in jobs.values()))
    with (
        showing(f"building {names}", progress),
        ThreadPoolExecutor(_workers(), thread_name_prefix="lltm_inline build") as pool,
    ):
        bindings = {one.key: one for one in map(_binding_of, jobs.values()) if one}
        futures = {key: pool.submit(_build_one, job, stop, attempts) for key, job in {**jobs, **bindings}.items()}
        needed = [futures[key] for key, job in jobs.items() if not job.spare]
        try:
            if meanwhile is not None:
                meanwhile()
            pending = set(futures.values())
            rounds = 0
            while pending:  # in short steps, so that Ctrl-C is taken at once
                raise_if_stopped()
                pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION).not_done
                if not pending.intersection(needed):
                    for future in needed:  # where one has failed, nobody waits for what is to spare
                        future.result()
                rounds += 1
                if rounds % 5 == 0:
                    enforce(attempts, BUILD_SECONDS, BUILD_BYTES)
        except BaseException as error:
            stop.set()
            shorten(error)
            for future in futures.values():
                future.cancel()
            while not all(future.done() for future in futures.values()):
                for attempt in list(attempts):
                    kill_compilers(attempt.directory)
                wait(futures.values(), timeout=0.05)
            raise
    builds = {}
    for key, job in jobs.items():
        with _spared(job):
            builds[key] = futures[key].result()
    return builds


def _workers() -> int:
    """Return how many compilers may run at once: MAX_JOBS, or the processors that this process may use."""
    jobs = os.environ.get("MAX_JOBS", "")
    return max(1, int(jobs) if jobs.isdigit() else processors())


def _cached(job: Job, started: float, *, warn: bool = False) -> Build | None:
    """Return the cached build, raise the remembered failure, or return None."""
    directory = cache.cache_dir() / "kernels" / job.key
    damaged = directory.exists()  # asked first: an entry is published whole, so what is there can be read
    manifest = cache.read_manifest(job.key)
    if manifest is not None and not manifest["ok"]:
        if manifest["version"] != __version__:
            return None  # what another version made of a compiler's words is not this one's
        cache.touch(directory)
        raise remembered_failure(job, manifest, directory)
    if manifest is not None and cache.is_whole(directory / job.result, manifest["sha256"]):
        cache.touch(directory)
        return _as_build(job, manifest, directory / job.result, started, cached=True)
    if warn and damaged:
        warnings.warn(
            f"the cached library of {job.label!r} is not what was built; building it anew", RuntimeWarning, stacklevel=4
        )
    return None


def _as_build(job: Job, manifest: Mapping[str, Any], library: Path, started: float, *, cached: bool) -> Build:
    return Build(
        kernel=job.label,
        path=library,
        seconds=time.perf_counter() - started,
        cached=cached,
        flags=job.shown_flags,
        compiler=job.compiler,
        digest=job.key,
        namespace=manifest["namespace"],
        log=manifest["log"],
        sha256=manifest["sha256"],
        warnings=_warnings_of(job, manifest["log"]),
    )


def _printed_in(log: str) -> str:
    return log.partition("\n\n")[2]


def _warnings_of(job: Job, log: str) -> tuple[Diagnostic, ...]:
    """Read the warnings out of the log of a build, whether it was made now or stands in the cache."""
    printed = _printed_in(log)
    found = parse(printed, label=job.label, sources=job.sources) if printed and job.sources else ()
    return tuple(item for item in found if item.severity == "warning")


def _build_one(job: Job, stop: threading.Event, attempts: list[Attempt]) -> Build:
    """Compile one job under its lock and publish what came of it."""
    started = time.perf_counter()
    refuse_devices(job)
    try:
        with cache.lock(job.key, cancelled=stop.is_set):
            cached = _cached(job, started)  # another process may have built it while this one waited
            if cached is not None:
                return cached
            host = _build_one(job.host, stop, attempts) if job.host else None
            with cache.workspace(job.key) as directory:
                namespace, log = _attempt(job, directory, stop, attempts, host)
                log = _COLOURS.sub("", log)
                manifest = {
                    "ok": True,
                    "kernel": job.label,
                    "namespace": namespace,
                    "sha256": cache.hash_file(directory / job.result),
                    "compiler": job.compiler,
                    "flags": job.shown_flags,
                    "seconds": time.perf_counter() - started,
                    "log": log,
                }
                cache.write_manifest(directory, manifest)
                published = cache.publish(directory, "kernels", job.key)
    except OSError as error:
        raise filesystem_failure(job, error) from error
    return _as_build(job, manifest, published / job.result, started, cached=False)


def _binding_of(job: Job) -> Job | None:
    """Return the job of a kernel's binding, where it is worth compiling apart: from the second text on that has the same one."""
    if not job.parts or job.only or not job.prelude or not header.is_made(job.toolchain, job.prelude):
        return None  # each of the two would read the headers
    binding = replace(
        job, label=f"{job.label.partition('/')[0]} (binding)", text=job.parts[1], only="object", parts=None
    )
    return binding if cache.mark("asked", binding.key) and not cache.marked("in one", job.name) else None


def _compiled(job: Job, directory: Path, host: Build | None) -> tuple[str, str]:
    """Compile a job: the user's text alone where its binding is there, which an edit leaves as it is.

    Raises:
        RuntimeError: as for `compile_job`.
    """
    binding = None
    with suppress(BuildError):  # it knows a type of the user's by its name alone
        if host is None and (one := _binding_of(job)):
            binding = _cached(one, time.perf_counter())
    if binding and job.parts:
        try:
            namespace, log = compile_job(replace(job, text=job.parts[0], parts=None), directory, [binding.path])
        except RuntimeError as error:
            # The functions are others than the binding declares, or `static`.
            missing = (name for name in light.undefined_in(str(error)) if name.endswith("(") and "::" not in name)
            if DECLARED not in str(error) and not any(missing):
                raise
        else:
            return namespace, joined([binding.log, log])
    namespace, log = compile_job(job, directory, [host.path] if host else [])
    if binding:
        cache.mark("in one", job.name)
    return namespace, joined([host.log, log]) if host else log


def _attempt(
    job: Job, directory: Path, stop: threading.Event, attempts: list[Attempt], host: Build | None
) -> tuple[str, str]:
    """Compile in a directory; return the namespace and what was run, or raise what it failed of."""
    attempt = Attempt(directory)
    attempts.append(attempt)
    try:
        return _compiled(job, directory, host)
    except (RuntimeError, ImportError, OSError) as error:
        if isinstance(error, LltmInlineError):
            raise  # no ninja, no cache: not the text's fault
        if stop.is_set():
            raise KeyboardInterrupt from None
        if attempt.stopped:
            raise endless_failure(job, attempt.stopped) from None
        if isinstance(error, OSError):
            raise
        log = _COLOURS.sub("", str(error))
        passing = passing_failure(job, log, directory)
        if passing is not None:
            raise passing from None
        failure = failure_of(job, log)
        remember_failure(job, failure, directory)
        raise failure from None
    finally:
        attempts.remove(attempt)
