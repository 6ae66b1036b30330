"""Reads the extensions that a `setup.py` declares. It is parsed and never run: it is somebody else's program.

Only literals are read, and names that are set to one once. Of any other file, `import_extension` is told the sources.
"""

from __future__ import annotations

import ast
from collections import Counter
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
_FROM_FILES = "or name the files: import_extension(..., sources=['a.cpp'], forward='NAME')"


@dataclass(frozen=True)
class Extension:
    """One extension of a `setup.py`.

    Attributes:
        name: under which Python imports it, `lltm_cpp`.
        sources: files, as paths below the directory of `setup.py`.
        cxx_flags, nvcc_flags: what it gives to the compilers.
        include_dirs: where its headers are, as paths below the directory of `setup.py`.
    """

    name: str
    sources: tuple[str, ...]
    cxx_flags: tuple[str, ...] = ()
    nvcc_flags: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()


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
            f"Write one, {_FROM_FILES}"
        )
    literals = _Literals(tree)
    return tuple(_Call(path, call, literals).extension() for call in sorted(calls, key=lambda call: call.lineno))


def _called(call: ast.Call) -> str:
    """Name the function of a call, without its module."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


class _Literals(ast.NodeTransformer):
    """Puts what they are set to in the place of names that a file sets once, under no condition, and then only reads."""

    def __init__(self, tree: ast.Module) -> None:
        nodes = [*ast.walk(tree)]
        names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        names += [node.value for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
        times = Counter(name.id for name in names)  # `sources.append(...)` changes what the name stands for
        bodies = [tree.body, *(node.body for node in nodes if isinstance(node, ast.FunctionDef))]
        self.values: dict[str, ast.expr] = {}
        for step in (step for body in bodies for step in body):
            match step:
                case ast.Assign(targets=[ast.Name(id=name)]) if times[name] == 1:
                    self.values[name] = step.value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression.

        Raises:
            ValueError, TypeError: it is no literal, or a dict of lists as keys.
        """
        return ast.literal_eval(self.visit(node))


def _is_list(value: Any, kind: type | tuple[type, ...] = str) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, kind) for one in value)


class _Call:
    """One call that makes an extension; a class only so that path and call need no passing around."""

    def __init__(self, path: Path, call: ast.Call, literals: _Literals) -> None:
        self.path, self.call, self.literals = path, call, literals
        self.what = f"{shown(str(path))} line {call.lineno}: {_called(call)}"

    def require(self, holds: Any, wrong: str) -> None:
        if not holds:
            raise DefinitionError(f"{self.what}: {wrong}")

    def extension(self) -> Extension:
        given = self._given()
        name, sources = given.pop("name", None), given.pop("sources", None)
        named = isinstance(name, str) and name
        self.require(named, f"name is {shown(name)}, want a string. Write it out, {_FROM_FILES}")
        wants = f"want a list of file names. Write it out, {_FROM_FILES}"
        self.require(sources and _is_list(sources), f"sources are {shown(sources)}, {wants}")
        includes = given.pop("include_dirs", None) or []
        self.require(_is_list(includes), f"include_dirs={shown(includes)}, want a list of directories")
        cxx, nvcc = self._flags(given.pop("extra_compile_args", None))
        cxx += self._macros(given.pop("define_macros", None))
        for key, value in given.items():
            self.require(
                not value,
                f"{key}={shown(value)} has no place in a kernel, which is built of its texts alone with torch's headers and "
                f"libraries: take it out, {_FROM_FILES}",
            )
        return Extension(name, tuple(sources), cxx, nvcc, tuple(includes))

    def _given(self) -> dict[str, Any]:
        """Return the arguments by name, as far as they are literals."""
        plain = len(self.call.args) <= len(_ORDER) and all(keyword.arg for keyword in self.call.keywords)
        wrong = "arguments with * or **, or more than name and sources by position. Write them out by name"
        self.require(plain, f"{wrong}, {_FROM_FILES}")
        nodes = dict(zip(_ORDER, self.call.args, strict=False))
        nodes |= {keyword.arg: keyword.value for keyword in self.call.keywords if keyword.arg}
        return {key: self._literal(key, node) for key, node in nodes.items() if key not in _IGNORED}

    def _literal(self, key: str, node: ast.expr) -> Any:
        text = ast.unparse(node)
        try:
            return self.literals.value(node)
        except (TypeError, ValueError):
            raise DefinitionError(
                f"{shown(str(self.path))} line {node.lineno}: {key}={shown(text)} is no literal, and setup.py "
                f"is read, not run. Write it out, {_FROM_FILES}"
            ) from None

    def _flags(self, value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the flags for C++ and for CUDA; a plain list goes to both, as torch does it."""
        lists = value if isinstance(value, dict) else {"cxx": value or [], "nvcc": value or []}
        listed = all(_is_list(flags) for flags in lists.values())
        self.require(listed, f"extra_compile_args={shown(value)}, want lists of strings")
        return tuple(lists.get("cxx", ())), tuple(lists.get("nvcc", ()))

    def _macros(self, value: Any) -> tuple[str, ...]:
        """Write `define_macros` as flags."""
        macros = value or []
        pairs = _is_list(macros, (list, tuple)) and all(len(one) == 2 and isinstance(one[0], str) for one in macros)
        self.require(pairs, f"define_macros={shown(value)}, want a list of (name, value)")
        return tuple(f"-D{name}" if text is None else f"-D{name}={text}" for name, text in macros)
