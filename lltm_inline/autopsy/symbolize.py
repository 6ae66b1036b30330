"""From addresses to lines of the user's text, by what the compiler left in the library (`-g1`), and to names of the C library.

A worker is a copy of what this process would be, so the C library lies in the same file here, though at another address.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.files import UTF8
from ..base.loaded import address_of, loaded_at
from ..workers.black_box import Frame

#: The first that is there is taken; both print a place for each call, the innermost inlined one first. With the second list of
#: options they put the name of a function before each place, with the third they do not.
_TOOLS = (
    ("addr2line", ("-i",), ("-f", "-C"), ()),
    (
        "llvm-symbolizer",
        ("--output-style=GNU", "--inlines"),
        ("--demangle", "--functions=linkage"),
        ("--functions=none",),
    ),
)
_SECONDS, _MANY_SECONDS = 10.0, 120.0


@dataclass(frozen=True)
class Place:
    """A line of a user's text.

    Attributes:
        file: what `#line` calls the text, `"lltm/fused"`.
        line: counted from 1.
        function: to which the line belongs, as the compiler names it; nothing where it was not asked for.
    """

    file: str
    line: int
    function: str = ""


def symbolize(frames: Iterable[Frame], library: Path | str) -> list[Place]:
    """Find the lines of a user's text that were being run.

    Args:
        frames: of a stack, the innermost first.
        library: the built kernel; frames in other files are left out.

    Returns:
        The innermost first, inlined calls included. Lines of headers are left out, so the first is where it happened. Empty
        where the machine has neither addr2line (binutils) nor llvm-symbolizer.
    """
    path = os.path.realpath(library)
    offsets = [frame.offset for frame in frames if frame.path and os.path.realpath(frame.path) == path]
    if not offsets:
        return []
    for tool, options, named, _ in _TOOLS:
        program = shutil.which(tool)
        if program:
            lines = _run([program, *options, *named, "-e", path, *map(hex, offsets)])
            places = map(_place, lines[1::2], lines[::2])
            return [place for place in places if place is not None]
    return []


def lines_of(offsets: Iterable[int], library: Path | str) -> dict[int, Place]:
    """Find the line of a user's text at each of many places in a library, all at once.

    Args:
        offsets: of instructions.
        library: the built kernel.

    Returns:
        The innermost place for each offset that has one, without its function; headers have none.
    """
    wanted = sorted(set(offsets))
    for tool, options, _, nameless in _TOOLS:
        program = shutil.which(tool)
        if program and wanted:
            command = [program, "-a", *options, *nameless, "-e", os.path.realpath(library)]
            found: dict[int, Place] = {}
            known: dict[str, Place | None] = {}  # a hundred thousand rows name a few thousand places
            offset = 0
            for row in _run(command, "\n".join(map(hex, wanted)), _MANY_SECONDS):
                if row.startswith("0x"):
                    offset = int(row, 16)
                elif offset not in found:
                    place = known[row] if row in known else known.setdefault(row, _place(row))
                    if place is not None:
                        found[offset] = place
            return found
    return {}


def _run(command: Sequence[str], given: str = "", seconds: float = _SECONDS) -> list[str]:
    try:
        process = subprocess.run(
            command,
            input=given,
            capture_output=True,
            **UTF8,
            timeout=seconds,
            env={**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""},
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in process.stdout.splitlines() if line]


def _place(row: str, function: str = "") -> Place | None:
    """Read a row such as `/build/op/variant:14 (discriminator 2)`; None for a header."""
    found = re.fullmatch(r"(.+):(\d+)(?: \(discriminator \d+\))?", row)
    name = own_name(found[1]) if found else None
    return Place(name, int(found[2]), function) if found and name else None


def own_name(path: str) -> str | None:
    """Return the `#line` name behind a file's path; None for a file that is one.

    The name is relative, `op/variant`, so the tools put the directory in which the compiler ran in front. A header is
    there to be opened; the file around the user's text is gone, and its name ends in .cpp. That of a precompiled header is `<stdin>`.
    """
    name = "/".join(path.split("/")[-2:])
    is_file = name == "??" or name.endswith((".cpp", ".cu", "<stdin>")) or os.path.exists(path)
    return None if is_file else name


def calls_of(frames: Iterable[Frame]) -> tuple[str, ...]:
    """Name the functions of the C library among the frames, the innermost first.

    Args:
        frames: of a crash, as path and offset.

    Returns:
        Names such as `malloc` and `pthread_mutex_lock`; a frame that belongs to no exported function has none.
    """
    library = _c_library()
    if library is None:
        return ()
    path, base = library
    names = [_name(base + frame.offset) for frame in frames if _same(frame.path, path)]
    return tuple(dict.fromkeys(name for name in names if name))


def _c_library() -> tuple[str, int] | None:
    """Where this process has its C library: path and address."""
    try:
        anywhere = address_of(ctypes.CDLL(None).abort)
    except (OSError, AttributeError):
        return None
    found = loaded_at(anywhere)
    return (found.library, found.base) if found and found.library and found.base else None


def _same(one: str, other: str) -> bool:
    return one.rpartition("/")[2] == other.rpartition("/")[2]


def _name(address: int) -> str:
    found = loaded_at(address)
    symbol = found.symbol if found else ""
    # One function has several names there: `free` is also `__libc_free`, `nanosleep` also `__nanosleep`.
    return symbol.removeprefix("__libc_").removeprefix("__GI_").removeprefix("__")


def short_name(name: str) -> str:
    """Return the name of a function without its arguments and template arguments.

    Example:
        >>> short_name("void cell<float>(at::Tensor const&)"), short_name("f(int)::{lambda(int)#1}::operator()(int) const")
        ('cell', 'f::{lambda}::operator()')
        >>> short_name("expf@plt"), short_name("operator new(unsigned long)@plt")
        ('expf', 'operator new')
    """
    name = name.removesuffix("@plt").replace("operator()", "operator\0").replace("operator ", "operator\1")
    while (less := re.sub(r"\([^()]*\)|<[^<>]*>", "", name)) != name:
        name = less
    name = re.sub(r" const(?=::|$)| \[clone[^]]*\]", "", re.sub(r"\{lambda#\d+\}", "{lambda}", name))
    return name.rpartition(" ")[2].replace("operator\0", "operator()").replace("operator\1", "operator ")
