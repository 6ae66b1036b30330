"""Includes of what is no file: a compiler that reads a device or a pipe never ends, or eats all memory."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from ..diagnosis.diagnostics import Diagnostic, excerpt_of
from ..errors import BuildError
from . import cache
from .job import Job

_INCLUDE = re.compile(r"\s*#\s*(?:include|include_next|import|embed)\s*(?:\"([^\"]+)\"|<([^>]+)>)")
_LINE = re.compile(r"#line (\d+) \"([^\"]*)\"")

_KINDS = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a directory"),
)


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
                column = 1
                excerpt = excerpt_of(job.sources.get(name, ""), line, column)
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
        if directive := _LINE.match(line):
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
        return next((kind for test, kind in _KINDS if test(mode)), "")
    return ""
