"""Kernels of a file of the user's, `my_ops.py:gate/aten` on the command line: the file is imported and says what it has."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from pathlib import Path

from ..base.arguments import offer, shown
from ..errors import InputError, UnknownKernelError
from .kernel import Kernel
from .registry import registry

_WORD = re.compile(r"(.+\.py)(?::(.*))?")


def kernels_of(word: str) -> list[Kernel]:
    """Return the kernels that a word of the command line names.

    Args:
        word: `OP/VARIANT`, `FILE.py:OP/VARIANT`, or `FILE.py` for all that the file registers.

    Raises:
        UnknownKernelError: no such kernel, or none in that file.
        InputError: no such file, one that raises, or one that registers no kernel.

    Example:
        >>> [kernel.label for kernel in kernels_of("axpy/cpp")]
        ['axpy/cpp']
    """
    match = _WORD.fullmatch(word)
    if match is None:
        return [registry[word]]
    file, name = match[1], match[2]
    found = {kernel.name: kernel for kernel in _registered_by(Path(os.path.abspath(file)), file)}
    if name is None:
        # An op's reference is what the others are compared with.
        return [one for one in found.values() if one.python is not registry.op_of(one).reference] or [*found.values()]
    if name not in found:
        raise UnknownKernelError(f"no kernel {shown(name)} in {file}.{offer(name, found, 'It registers')}")
    return [found[name]]


#: What each file has registered that was imported.
_imported: dict[Path, list[Kernel]] = {}


def _registered_by(path: Path, file: str) -> list[Kernel]:
    """Import a file as `python FILE` would find it, and return what it registers; nothing is written beside it."""
    if path not in _imported:
        if not path.is_file():
            raise InputError(f"no file {shown(file)} in {shown(os.getcwd())}")
        if path.stem in sys.modules or path.stem in sys.stdlib_module_names:
            used = f"a module that is in use, {path.stem!r}"
            raise InputError(f"{file} has the name of {used}: give the file another name")
        # The worker, which imports the file too, takes this over when it is started.
        sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
        sys.path.insert(0, str(path.parent))
        before = dict(registry)
        try:
            importlib.import_module(path.stem)
        except (Exception, SystemExit) as error:  # whatever the user's file raises
            raise InputError(f"{file}{_line_of(error, path)}: {type(error).__name__}: {error}") from error
        _imported[path] = [kernel for name, kernel in registry.items() if before.get(name) != kernel]
    if not _imported[path]:
        raise InputError(
            f"{file} registers no op and no kernel: li.registry.register(li.Op(...)) or register(li.Kernel(...)) in it does"
        )
    return _imported[path]


def _line_of(error: BaseException, path: Path) -> str:
    """Name the line of the file in which an error was raised, or which cannot be read."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f", line {lines[-1]}" if lines else ""
