"""Reads the extensions that a `setup.py` declares. It is parsed and never run: it is somebody else's program."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.arguments import shown
from ..base.files import read_text
from ..errors import DefinitionError

#: The calls that make an extension.
_CALLS = ("CppExtension", "CUDAExtension", "Extension")
#: Arguments that may be left aside: what they say is the playground's own business, or nothing about a kernel.
_IGNORED = {"language", "py_limited_api", "optional", "depends", "swig_opts", "dlink", "dlink_libraries"}
_ORDER = ("name", "sources")
_FROM_FILES = "or name the files yourself: li.Kernel.from_files('op/variant', cpp='...')"


@dataclass(frozen=True)
class Extension:
    """One extension of a `setup.py`.

    Attributes:
        name: under which Python imports it, `lltm_cpp`.
        sources: files, as paths below the directory of `setup.py`.
        cxx_flags, nvcc_flags: what it gives to the compilers.
        line: where it is declared.
    """

    name: str
    sources: tuple[str, ...]
    cxx_flags: tuple[str, ...]
    nvcc_flags: tuple[str, ...]
    line: int


def read_setup(path: Path) -> tuple[Extension, ...]:
    """List the extensions that a `setup.py` declares with literal names, sources and flags.

    Args:
        path: of the `setup.py`.

    Raises:
        FileError: it cannot be read.
        DefinitionError: it is no Python, declares no extension, or something that only running it would tell.
    """
    try:
        tree = ast.parse(read_text(path))
    except (SyntaxError, ValueError) as error:
        line = f" line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else error
        raise DefinitionError(f"{shown(str(path))}{line} is not Python: {what}") from None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) in _CALLS]
    if not calls:
        raise DefinitionError(
            f"{shown(str(path))} declares no extension: looked for calls of {', '.join(_CALLS)}. "
            "Name the files yourself: li.Kernel.from_files('op/variant', cpp='...')"
        )
    return tuple(_Call(path, call).extension() for call in sorted(calls, key=lambda call: call.lineno))


def _called(call: ast.Call) -> str:
    """Name the function of a call, without its module."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


class _Call:
    """One call that makes an extension; a class only so that path and call need no passing around."""

    def __init__(self, path: Path, call: ast.Call) -> None:
        self.path, self.call = path, call
        self.what = f"{shown(str(path))} line {call.lineno}: {_called(call)}"

    def extension(self) -> Extension:
        given = self._given()
        name, sources = given.pop("name", None), given.pop("sources", None)
        if not isinstance(name, str) or not name:
            raise DefinitionError(f"{self.what}: name is {shown(name)}, want a string. Write it out, {_FROM_FILES}")
        if not isinstance(sources, list | tuple) or not sources or not all(isinstance(one, str) for one in sources):
            raise DefinitionError(
                f"{self.what}: sources are {shown(sources)}, want a list of file names. Write it out, {_FROM_FILES}"
            )
        cxx, nvcc = self._flags(given.pop("extra_compile_args", None))
        cxx += self._macros(given.pop("define_macros", None))
        left = [key for key, value in given.items() if key not in _IGNORED and value]
        if left:
            raise DefinitionError(
                f"{self.what}: {left[0]}={shown(given[left[0]])} has no place in a kernel, which is built of its texts "
                f"alone with torch's headers and libraries: take it out, {_FROM_FILES}"
            )
        return Extension(name, tuple(sources), cxx, nvcc, self.call.lineno)

    def _given(self) -> dict[str, Any]:
        """Return the arguments by name, as far as they are literals."""
        if len(self.call.args) > len(_ORDER) or any(keyword.arg is None for keyword in self.call.keywords):
            raise DefinitionError(
                f"{self.what}: arguments with * or **, or more than name and sources by position. "
                f"Write them out by name, {_FROM_FILES}"
            )
        nodes = dict(zip(_ORDER, self.call.args, strict=False))
        nodes |= {keyword.arg: keyword.value for keyword in self.call.keywords if keyword.arg}
        return {key: self._literal(key, node) for key, node in nodes.items() if key not in _IGNORED}

    def _literal(self, key: str, node: ast.expr) -> Any:
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise DefinitionError(
                f"{shown(str(self.path))} line {node.lineno}: {key}={shown(ast.unparse(node))} is no literal, and setup.py "
                f"is read, not run. Write it out, {_FROM_FILES}"
            ) from None

    def _flags(self, value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the flags for C++ and for CUDA; a plain list goes to both, as torch does it."""
        lists = value if isinstance(value, dict) else {"cxx": value or [], "nvcc": value or []}
        for flags in lists.values():
            if not isinstance(flags, list | tuple) or not all(isinstance(flag, str) for flag in flags):
                raise DefinitionError(f"{self.what}: extra_compile_args={shown(value)}, want lists of strings")
        return tuple(lists.get("cxx", ())), tuple(lists.get("nvcc", ()))

    def _macros(self, value: Any) -> tuple[str, ...]:
        """Write `define_macros` as flags."""
        macros = value or []
        if not isinstance(macros, list | tuple) or not all(
            isinstance(macro, list | tuple) and len(macro) == 2 and isinstance(macro[0], str) for macro in macros
        ):
            raise DefinitionError(f"{self.what}: define_macros={shown(value)}, want a list of (name, value)")
        return tuple(f"-D{name}" if text is None else f"-D{name}={text}" for name, text in macros)
