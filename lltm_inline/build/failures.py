"""Builds that failed: what is raised, and what is remembered of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BuildError, LltmInlineError
from ..registry import diff
from ..version import __version__
from . import cache
from .diagnostics import Diagnostic, describe, parse
from .header import PASSING_FAILURES
from .job import Job


def failure_of(job: Job, log: str) -> BuildError:
    """Make the error of a failed job from what compiler and linker said."""
    return _build_error(job, parse(log, label=job.label, sources=job.sources), log)


def remembered_failure(job: Job, manifest: Mapping[str, Any], directory: Path) -> BuildError:
    """Make the error of a job that failed before; it speaks of the revision that is built now."""
    log = directory / "log.txt"
    diagnostics = [Diagnostic.from_dict({**item, "kernel": job.label}) for item in manifest["diagnostics"]]
    return _build_error(job, diagnostics, log.read_text() if log.exists() else "")


def remember_failure(job: Job, failure: BuildError, directory: Path) -> None:
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


def _build_error(job: Job, diagnostics: Sequence[Diagnostic], log: str) -> BuildError:
    import torch

    try:
        changed = diff(job.parent, job.label).changed_lines if job.parent else None
    except LltmInlineError:  # a kernel that was never registered
        changed = None
    message = describe(
        job.label,
        diagnostics,
        compiler=job.compiler,
        torch_version=torch.__version__,
        parent=job.parent,
        changed_lines=changed,
        log=log,
    )
    return BuildError(message, kernel=job.label, diagnostics=diagnostics, log=log)
