"""Source files in: read as they are, with the headers of their own in them, for a kernel is built of its texts alone."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..cpp.masks import directives
from ..errors import FileError, InputError
from .arguments import shown, using_file

#: How compilers and their tools write, whatever the locale says.
UTF8: dict[str, Any] = {"encoding": "utf-8", "errors": "replace"}

_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*", re.MULTILINE)


def escaped(text: str) -> str:
    """Write a source text as a template that gives it.

    Example:
        >>> escaped('puts("$5")')
        'puts("$$5")'
    """
    return text.replace("$", "$$")


def read_source(path: Path, directories: Sequence[Path] = (), seen: set[Path] | None = None) -> str:
    """Read a C++ or CUDA file: a byte order mark is dropped, Windows line ends become plain ones, headers of its own are put in.

    Raises:
        FileError: it is not there, is no file, or may not be read.
        InputError: it is empty, or is not UTF-8.
    """
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{shown(str(path))} is empty: want C++ or CUDA text")
    return with_headers(path, text, directories, set() if seen is None else seen)


def read_text(path: Path) -> str:
    """Read a file of text, without byte order mark and with plain line ends.

    Raises:
        FileError: it is not there, is no file, or may not be read.
        InputError: it is not UTF-8.
    """
    with using_file(path):
        # A pipe or a device might never end.
        if path.exists() and not path.is_dir() and not path.is_file():
            raise FileError(f"{shown(str(path))} is a device, a pipe or a socket: want a file")
        data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        kind = " (it looks like UTF-16)" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise InputError(
            f"{shown(str(path))} line {line}: byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8{kind}: "
            "save the file as UTF-8"
        ) from None
    return text.replace("\r\n", "\n")


def with_headers(path: Path, text: str, directories: Sequence[Path], seen: set[Path]) -> str:
    """Put what a header holds, once, in the place of the line that includes it: headers beside the file or in some directories.

    Args:
        path, text: of the file.
        directories: in which headers are looked for.
        seen: the files that stand in the text already, or before it; it grows.

    Raises:
        FileError, InputError: a header that cannot be read.
    """
    seen.add(path.resolve())
    parts, last = [], 0
    for one in directives(text):
        name = one.header
        places = [*([path.parent] if one.rest.startswith('"') else []), *directories] if name else []
        found = next((place / name for place in places if os.path.isfile(place / name)), None)
        if found is None:
            continue
        parts.append(text[last : one.start])
        last = one.end
        if found.resolve() in seen:
            parts.append(f"// {name} stands above.")
            continue
        inside = with_headers(found, _ONCE.sub("", read_text(found)), directories, seen)
        parts.append(f"// From {name}.\n{inside.strip()}\n")
    return "".join([*parts, text[last:]])
