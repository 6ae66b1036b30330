"""Builds that fail, or that would never end: what is raised, and what is remembered of them."""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..base.packages import install_command
from ..diagnosis.diagnostics import Diagnostic, describe, excerpt_of, parse
from ..errors import BuildError, CacheError, LltmInlineError, ToolchainError
from ..model.registry import diff, registry
from ..version import __version__
from . import cache, environment
from .header import PASSING_FAILURES, python_include
from .job import Job


def failure_of(job: Job, log: str) -> BuildError:
    """Make the error of a failed job from what compiler and linker said."""
    if not job.sources:
        return _helper_failure(job, log)
    return _build_error(job, parse(log, label=job.label, sources=job.sources), log)


def _helper_failure(job: Job, log: str) -> BuildError:
    """Make the error of a text of our own, which no user can mend; it is not remembered, as another linker may do."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    said = next((line for line in lines if re.search(r"\berror\b|undefined", line)), lines[-1] if lines else "")
    return BuildError(
        f"the {job.label}, a part of lltm_inline that kernels need, could not be built with {job.compiler}: no kernel is at "
        f"fault. It said: {said[:300]}\n  Another compiler or linker may do: CXX=g++, or an installed lld. Full log: .log of this error"
        f"{_surroundings()}",
        kernel=job.label,
        log=log,
    )


def _surroundings() -> str:
    """Name the variables that may be at fault where a compiler says nothing of a text."""
    if not (found := environment.of_compilers()):
        return ""
    names = " ".join(item.partition("=")[0] for item in found)
    return f"\n  Compilers read what is set in the environment: {', '.join(found)}. Try without: unset {names}"


def passing_failure(job: Job, log: str, directory: Path) -> LltmInlineError | None:
    """Make the error of a job that failed for want of disk space, of Python's headers or of the cache itself; None for others."""
    if _NO_PYTHON.search(log):
        return ToolchainError(
            f"no Python.h in {python_include()}, which {job.label!r} includes: the headers of Python {platform.python_version()} "
            f"are not installed. Install them with: {install_command('python headers')}"
        )
    full = _FULL.search(log)
    if full:
        return _full_disk(job, full[0])
    if directory.is_dir() and shutil.disk_usage(directory).free < _PAGE:
        return _full_disk(job, "the compiler or the linker failed")
    if not directory.is_dir() or _LOST.search(log):
        return _removed(job)
    return None


def filesystem_failure(job: Job, error: OSError) -> LltmInlineError:
    """Make the error of a job for which the file system refused something."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return _full_disk(job, str(error.strerror))
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return CacheError(
            f"{job.label!r} is not in the cache, and the cache directory {cache.cache_dir()} cannot be written: "
            f"{error.strerror}. Set LLTM_INLINE_CACHE to a directory of your own that can be"
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and str(error.filename).startswith(str(cache.cache_dir())):
        return _removed(job)
    return BuildError(f"kernel {job.label!r} could not be built: {error}", kernel=job.label)


def endless_failure(job: Job, stopped: str) -> BuildError:
    """Make the error of a job that was stopped because it took too long or too much memory; it is not remembered."""
    return BuildError(
        f"kernel {job.label!r} {stopped}, and was stopped. Likely cause: templates or constexpr functions that call "
        f"themselves without end, or an include that never ends",
        kernel=job.label,
    )


#: As the compilers, the linkers and the system say that nothing more can be written.
_FULL = re.compile(
    r"No space left on device|Disk quota exceeded|File too large|File size limit exceeded|failed to write to an output file"
    r"|terminated with signal 7 \[Bus error\]"  # a linker that writes through a mapping
)
_NO_PYTHON = re.compile(r"\bPython\.h['\"]?:? (?:No such file|file not found)")
#: A disk with less free is full: no file of a build is smaller.
_PAGE = 4096
#: The files of a build itself are gone.
_LOST = re.compile(r"\b(?:main\.cpp|main\.o|cuda\.cu|cuda\.cuda\.o|build\.ninja)['\"]?: No such file")


def _full_disk(job: Job, reason: str) -> CacheError:
    places = [str(cache.cache_dir())]
    with suppress(OSError):  # it is tried out by writing there
        places.append(tempfile.gettempdir())
    free = [f"{shutil.disk_usage(place).free / 2**20:,.1f} MiB free in {place}" for place in dict.fromkeys(places)]
    return CacheError(
        f"no space to build {job.label!r}: {reason} ({', '.join(free)}). Make room, for example with: "
        f"python -m lltm_inline cache clear. Or set LLTM_INLINE_CACHE to a directory on another disk"
    )


def _removed(job: Job) -> CacheError:
    return CacheError(
        f"the cache directory {cache.cache_dir()} was removed while {job.label!r} was being built. Build it again"
    )


def remembered_failure(job: Job, manifest: Mapping[str, Any], directory: Path) -> BuildError:
    """Make the error of a job that failed before; it speaks of the revision that is built now."""
    try:
        log = (directory / "log.txt").read_text(encoding="utf-8")
    except (OSError, ValueError):
        log = ""
    diagnostics = [Diagnostic.from_dict({**item, "kernel": job.label}) for item in manifest["diagnostics"]]
    return _build_error(job, diagnostics, log)


def remember_failure(job: Job, failure: BuildError, directory: Path) -> None:
    """Publish a failed build as its diagnostics, unless the machine and not the text was at fault."""
    if not failure.diagnostics or any(word in failure.log for word in PASSING_FAILURES):
        return
    manifest = {
        "ok": False,
        "version": __version__,
        "kernel": job.label,
        "diagnostics": [item.to_dict() for item in failure.diagnostics],
    }
    with suppress(OSError):  # what cannot be written is not remembered
        for file in directory.iterdir():
            file.unlink()
        (directory / "log.txt").write_text(failure.log, encoding="utf-8")
        cache.write_manifest(directory, manifest)
        cache.publish(directory, "kernels", job.key)


def _build_error(job: Job, diagnostics: Sequence[Diagnostic], log: str) -> BuildError:
    import torch

    parent = job.parent
    try:
        # The bare name means the current revision, which may be this very one by now.
        parent = f"{parent}@0" if parent and registry[parent].label != parent else parent
        changed = diff(parent, job.label).changed_lines if parent else None
    except LltmInlineError:  # a kernel that was never registered
        changed = None
    message = describe(
        job.label,
        diagnostics,
        compiler=job.compiler,
        torch_version=torch.__version__,
        parent=parent,
        changed_lines=changed,
        log=log,
    )
    message += "" if diagnostics else _surroundings()
    return BuildError(message, kernel=job.label, diagnostics=diagnostics, log=log)


# A compiler that reads a device or a pipe never ends, or eats all memory.
_INCLUDE = re.compile(r"\s*#\s*(?:include|include_next|import|embed)\s*(?:\"([^\"]+)\"|<([^>]+)>)")
_LINE_DIRECTIVE = re.compile(r"#line (\d+) \"([^\"]*)\"")

#: By the letter that `ls -l` has for it.
_NO_FILES = {"c": "a device", "b": "a device", "p": "a named pipe", "s": "a socket", "d": "a directory"}


def refuse_devices(job: Job) -> None:
    """Refuse a text that includes a device, a named pipe, a socket or a directory.

    Only what a text itself names is seen; what comes through a macro or another header ends with the time limit of the build.

    Raises:
        BuildError: with the place in the user's own text; nothing was compiled.
    """
    for text in (job.text, job.cuda):
        for name, line, path in _includes(text):
            kind = _kind(path, job.cflags)
            if kind:
                excerpt = excerpt_of(job.sources.get(name, ""), line, 1)
                message = f"{path!r} is {kind}, not a file: it cannot be included"
                found = Diagnostic(job.label, name, line, 0, "error", message, (), excerpt)
                raise BuildError(
                    f"kernel {job.label!r} includes what is no file; nothing was compiled\n  {found}",
                    kernel=job.label,
                    diagnostics=(found,),
                )


def _includes(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield file and line, as `#line` counts them, and path of every include."""
    name, number = "", 0
    for line in text.split("\n"):
        number += 1
        if directive := _LINE_DIRECTIVE.match(line):
            name, number = directive[2], int(directive[1]) - 1
        elif include := _INCLUDE.match(line):
            yield name, number, include[1] or include[2]


def _kind(path: str, cflags: tuple[str, ...]) -> str:
    """Say what a path leads to, if that is no file: from where the text is compiled, or from a directory of `-I`."""
    starts = [str(cache.cache_dir() / "tmp" / "workspace"), *(flag[2:] for flag in cflags if flag.startswith("-I"))]
    for start in starts:
        try:
            # The workspace is not there yet: its `..` has to be taken away by name.
            mode = os.stat(os.path.normpath(os.path.join(start, path))).st_mode
        except (OSError, ValueError):
            continue
        return _NO_FILES.get(stat.filemode(mode)[0], "")
    return ""
