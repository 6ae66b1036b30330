"""Kernels that are built, each with all that is needed to load it in any process: made once, remembered, handed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import native
from ..base.device import DEVICES
from ..compiling import cache, environment
from ..compiling.compiler import Build, make_job, run_jobs
from ..compiling.job import Job, follower_job, helper_job
from ..compiling.nvcc import require_gpu
from ..compiling.toolchain import find_toolchain
from ..model.registry import Kernel, Op, registry
from ..source.template import require_text
from .setting import Setting

_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True)
class Built:
    """A kernel with its library.

    Attributes:
        kernel, op: what was built, and what it computes.
        device: for which.
        job: from which the library was made; None for a Python kernel.
        library: None for a Python kernel, and before it is built.
        helpers: our own libraries by name, see `lltm_inline.native`.
        follower: the same kernel in a library in which each load and store is followed, where that was asked for and it touches memory
            itself; without a library where that could not be made.
    """

    kernel: Kernel
    op: Op
    device: str
    job: Job | None = None
    library: Build | None = None
    helpers: Mapping[str, Build] = field(default_factory=dict)
    follower: Built | None = None

    @property
    def stamps(self) -> list[_Stamp]:
        """The stamps of all its files."""
        own = [_stamp_of(one) for one in (*self.helpers.values(), self.library) if one is not None]
        return [*own, *(self.follower.stamps if self.follower else [])]


def _stamp_of(library: Build) -> _Stamp:
    """Take down what tells whether a file is another one now; None of one that is gone."""
    try:
        status = library.path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


#: What was built in this process, with its stamps, by kernel, setting and environment: to look into the cache again would
#: cost milliseconds.
_known: dict[tuple[Any, ...], tuple[Built, list[_Stamp]]] = {}
_helpers: dict[tuple[str, Path, str], tuple[Build, _Stamp]] = {}


def build_all(
    kernels: Sequence[Kernel],
    setting: Setting,
    meanwhile: Callable[[], None] | None = None,
    *,
    followed: bool = False,
) -> tuple[Built, ...]:
    """Build kernels in parallel, with what they need beside them.

    Nothing is built where all kernels are Python functions: there may be no compiler.

    Args:
        kernels: what to build.
        setting: with what, and where they are to run.
        meanwhile: called while a compiler runs, if one does.
        followed: with the library in which each load and store is followed, of those that run on several threads.

    Raises:
        BuildError, SignatureError, ToolchainError, CacheError: as for `build`.
    """
    names = native.BESIDE[:1] if setting.here else native.BESIDE
    how = (setting.device, setting.compiler, setting.cflags, names, environment.of_builds())
    asked = [Built(kernel, registry.op_of(kernel), setting.device) for kernel in kernels]
    found = [_remembered(one, how) for one in asked]
    missing = [one for one, built in zip(asked, found, strict=True) if built is None]
    new = iter(_build(missing, setting, names, meanwhile, followed) if missing else ())
    done = [built or next(new) for built in found]
    if followed:
        done = _with_followers(done, setting.progress)
    for before, built in zip(found, done, strict=True):
        if built is not before:
            _remember(built, how)
    return tuple(done)


def _remembered(asked: Built, how: tuple[Any, ...]) -> Built | None:
    if asked.kernel.python is not None:
        return asked
    known, stamps = _known.get((asked.kernel, asked.kernel.label, *how), (None, []))
    return known if known is not None and known.op is asked.op and known.stamps == stamps else None


def _remember(built: Built, how: tuple[Any, ...]) -> None:
    assert built.library is not None
    again = replace(built, library=replace(built.library, cached=True, seconds=0.0))
    _known[built.kernel, built.kernel.label, *how] = again, again.stamps


def _build(
    asked: Sequence[Built],
    setting: Setting,
    names: Sequence[str],
    meanwhile: Callable[[], None] | None,
    followed: bool,
) -> list[Built]:
    toolchain = find_toolchain(setting.compiler, setting.cflags, setting.device)
    jobs = [make_job(one.kernel, toolchain) for one in asked]
    place = toolchain.compiler, cache.cache_dir()
    remembered = {name: _helpers[*place, name] for name in names if (*place, name) in _helpers}
    helpers = {name: helper for name, (helper, stamp) in remembered.items() if _stamp_of(helper) == stamp}
    absent = [name for name in names if name not in helpers]
    wanted = [*jobs, *(helper_job(name, toolchain) for name in absent)]
    followers = [follower_job(job) if followed else None for job in jobs]
    builds = run_jobs([*wanted, *(job for job in followers if job)], setting.progress, meanwhile)
    for name, helper in zip(absent, builds[len(jobs) : len(wanted)], strict=True):  # verified where it is loaded
        helpers[name] = helper
        _helpers[*place, name] = helper, _stamp_of(helper)
    made = [
        replace(one, job=job, library=library, helpers=helpers)
        for one, job, library in zip(asked, jobs, builds, strict=False)
    ]
    return _attached(made, followers, builds)


def _with_followers(found: Sequence[Built], progress: Any) -> list[Built]:
    """Add their followers to kernels that have none yet and run on several threads."""
    jobs = [follower_job(one.job) if one.job and one.follower is None else None for one in found]
    return _attached(found, jobs, run_jobs([job for job in jobs if job], progress))


def _attached(found: Sequence[Built], jobs: Sequence[Job | None], builds: Sequence[Build]) -> list[Built]:
    """Add to kernels what came of the jobs of their followers."""
    made = {one.digest: one for one in builds}
    return [
        replace(one, follower=replace(one, job=job, library=made.get(job.key))) if job else one
        for one, job in zip(found, jobs, strict=True)
    ]


def build_helper(name: str, compiler: str | None = None, progress: Any = None) -> Build:
    """Build a library of ours, see `lltm_inline.native`, unless the cache has it."""
    return run_jobs([helper_job(name, find_toolchain(compiler))], progress)[0]


#: Libraries that the worker has run for this process, by digest and hash: remembered also where the disk takes no record.
_tried: set[tuple[str, str]] = set()


def mark_tried(built: Built) -> None:
    """Note that the worker has run a library, in a check for instance, and that it came back."""
    library = built.library
    if library is not None and (library.digest, library.sha256) not in _tried:
        cache.mark_proven(library.digest, library.sha256)
        _tried.add((library.digest, library.sha256))


def is_tried(built: Built) -> bool:
    """Tell whether the worker has run this very library, for this process or, as a record in the cache says, for another.

    A kernel in Python has none, and needs no trial.
    """
    library = built.library
    if library is None:
        return True
    return (library.digest, library.sha256) in _tried or cache.is_proven(library.digest, library.sha256)


def require_device(device: str, kernel: Kernel | None = None) -> None:
    """Refuse what cannot be run before anything is made for it: a kernel without a text for the device, no GPU.

    Raises:
        DefinitionError: the kernel has no text for it.
        ToolchainError: torch cannot use a GPU.
    """
    if kernel is not None and kernel.python is None:
        require_text(kernel, device)
    if DEVICES[device].needs_gpu:
        require_gpu()
