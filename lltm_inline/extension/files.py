"""Source files in: read as they are, and refused with file and line where the playground could not build what they say."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..arguments import path_of, shown, using_file
from ..errors import DefinitionError, FileError, InputError
from ..kernel import BINDINGS, Kernel

_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LOCAL = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_GIVEN = ("name", "cpp", "cuda", "binding", "python", "parent")


def kernel_fields(name: str, cpp: Any, cuda: Any, binding: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Read the files of `Kernel.from_files` and return the fields of the kernel.

    Raises:
        InputError: a file that is no source text, or includes a header that lies beside it; no file at all.
        FileError: a file that cannot be read.
        DefinitionError: a field that a kernel of files does not have.
    """
    where = f"kernel {shown(name)}"
    known = [field.name for field in fields(Kernel) if field.name not in _GIVEN]
    if unknown := sorted(set(given) - set(known)):
        raise DefinitionError(
            f"{where}: from_files() takes no {', '.join(map(shown, unknown))}. Fields beside the files: {', '.join(known)}"
        )
    if cpp is None and cuda is None:
        raise InputError(f"{where}: from_files() needs a file: cpp='kernel.cpp' or cuda='kernel.cu'")
    paths = {kind: path_of(kind, value) for kind, value in (("cpp", cpp), ("cuda", cuda)) if value is not None}
    found: dict[str, Any] = {}
    if binding is not None and not (isinstance(binding, str) and binding in BINDINGS):
        paths["binding"] = path_of("binding", binding)
    elif binding is not None:
        found["binding"] = binding
    for kind, path in paths.items():
        text = read_source(path)
        # Who gives slots has written templates; to everybody else a dollar sign is one.
        found[kind] = text if given.get("slots") else escaped(text)
    return {**given, **found}


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
