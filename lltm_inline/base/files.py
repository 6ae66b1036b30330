"""Source files in: read as they are, and refused with file and line where the playground could not build what they say."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import FileError, InputError
from .arguments import shown, using_file

_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LOCAL = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def escaped(text: str) -> str:
    """Write a source text as a template that gives it.

    Example:
        >>> escaped('puts("$5")')
        'puts("$$5")'
    """
    return text.replace("$", "$$")


def read_source(path: Path) -> str:
    """Read a C++ or CUDA file: a byte order mark is dropped, Windows line ends become plain ones, all else stays.

    Raises:
        FileError: it is not there, is no file, or may not be read.
        InputError: it is empty, is not UTF-8, or includes a header that lies beside it.
    """
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{shown(str(path))} is empty: want C++ or CUDA text")
    refuse_local_headers(path, text)
    return text


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


def refuse_local_headers(path: Path, text: str) -> None:
    """Refuse the include of a header that lies beside the file: a kernel is built of its texts alone.

    Raises:
        InputError: with file and line, and what to do.
    """
    code = _BLOCK_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in _LOCAL.finditer(code):
        if os.path.isfile(path.parent / match[1]):
            line = code.count("\n", 0, match.start(1)) + 1
            raise InputError(
                f'{shown(str(path))} line {line}: #include "{match[1]}" is a file of its own, and a kernel is built of its '
                "texts alone: put what it holds in place of this line"
            )
