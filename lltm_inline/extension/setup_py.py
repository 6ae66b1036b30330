"""Reads the extensions that a `setup.py` declares. It is parsed and never run: it is somebody else's program.

What is no literal is worked out as far as that needs no more than the text and the names of the files beside it: variables that
are set once, sums, f-strings, `glob`, `os.path`, `pathlib`, `__file__`.
"""

from __future__ import annotations

import ast
import glob
import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
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
    fold = _Fold(path, tree)
    return tuple(_Call(path, call, fold).extension() for call in sorted(calls, key=lambda call: call.lineno))


def _called(call: ast.Call) -> str:
    """Name the function of a call, without its module."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


#: What is called with values that are known; of a name its last two parts count.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        f"path.{f.__name__}": f
        for f in (os.path.join, os.path.dirname, os.path.basename, os.path.relpath, os.path.splitext)
    },
    **dict.fromkeys(("path.abspath", "path.realpath", "path.normpath"), os.path.normpath),
    **dict.fromkeys(("Path", "pathlib.Path"), PurePath),  # which touches no file
    **{f.__name__: f for f in (sorted, list, tuple, str, set)},
}
_METHODS = ("resolve", "absolute", "as_posix", "format", "join", "replace", "with_suffix", "copy")


class _Fold:
    """Works out the values of expressions."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self.directory = path.parent.resolve()
        self.known: dict[str, Any] = {"__file__": str(self.directory / path.name)}
        self.steps: dict[str, list[ast.expr]] = {}
        #: Names of which a condition or a loop decides.
        self.open: set[str] = set()
        self._collect(tree, sure=True)

    def _collect(self, node: ast.AST, sure: bool) -> None:
        """Note what names are set to, and what is added to them, in the order of the text."""
        for child in ast.iter_child_nodes(node):
            name, value, adds = _step(child)
            if name and not (sure and value is not None and bool(self.steps.get(name)) == adds):
                self.open.add(name)
            elif name and value is not None:
                self.steps.setdefault(name, []).append(value)
            branches = isinstance(child, ast.If | ast.For | ast.While | ast.Try | ast.ExceptHandler)
            is_main = isinstance(child, ast.If) and ast.unparse(child.test) == "__name__ == '__main__'"
            self._collect(child, sure and (not branches or is_main))

    def value(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        """Work out one expression, with what a comprehension around it names.

        Raises:
            Exception: only running the file would tell.
        """
        match node:
            case ast.Name(id=name) if name in local:
                return local[name]
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Name(id=name) if name in self.steps and name not in self.open:
                steps = self.steps.pop(name)  # what names itself is not known
                try:
                    values = [self.value(step, {}) for step in steps]
                finally:
                    self.steps[name] = steps
                total = values[0]
                for value in values[1:]:
                    total = total + value
                return total
            case ast.List(elts=items) | ast.Tuple(elts=items):
                listed: list[Any] = []
                for item in items:
                    listed += (
                        self.value(item.value, local) if isinstance(item, ast.Starred) else [self.value(item, local)]
                    )
                return listed if isinstance(node, ast.List) else tuple(listed)
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {self.value(k, local): self.value(v, local) for k, v in zip(keys, values, strict=True) if k}
            case ast.JoinedStr(values=parts):
                return "".join(
                    str(self.value(p.value if isinstance(p, ast.FormattedValue) else p, local)) for p in parts
                )
            case ast.BinOp(left=left, op=ast.Add() | ast.Div() | ast.Mod() as op, right=right):
                how = {ast.Add: operator.add, ast.Div: operator.truediv, ast.Mod: operator.mod}[type(op)]
                return how(self.value(left, local), self.value(right, local))
            case ast.Subscript(value=value, slice=index):
                return self.value(value, local)[self.value(index, local)]
            case ast.ListComp(elt=each, generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[])]):
                return [self.value(each, {**local, name: one}) for one in self.value(over, local)]
            case ast.Attribute(value=value, attr="parent" | "name" | "stem" as attribute):
                return getattr(PurePath(self.value(value, local)), attribute)
            case ast.Call(func=called, args=given):
                return self._called(called, [self.value(one, local) for one in given], node, local)
        return ast.literal_eval(node)

    def _called(self, called: ast.expr, given: list[Any], node: ast.Call, local: Mapping[str, Any]) -> Any:
        name = ast.unparse(called)
        if name in ("glob", "glob.glob", "glob.iglob"):
            return sorted(
                os.path.join(self.directory, one)
                for one in glob.glob(given[0], root_dir=self.directory, recursive=True)
            )
        if name in ("os.getcwd", "Path.cwd"):
            return str(self.directory)
        if not node.keywords and (function := _FUNCTIONS.get(".".join(name.split(".")[-2:]))):
            return function(*given)
        if isinstance(called, ast.Attribute) and not node.keywords:
            owner = self.value(called.value, local)
            if called.attr in ("glob", "rglob") and isinstance(owner, PurePath):
                return sorted(getattr(self.directory / owner, called.attr)(*given))
            if called.attr in _METHODS and isinstance(owner, str | PurePath | list):
                return owner if called.attr in ("resolve", "absolute") else getattr(owner, called.attr)(*given)
        raise LookupError(name)


def _step(node: ast.AST) -> tuple[str, ast.expr | None, bool]:
    """Tell which name a statement sets, to what, and whether it adds that; no value where it cannot be told."""
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            return name, value, False
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            return name, value, True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[one])):
            return name, ast.List([one], ast.Load()), True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="extend"), args=[more])):
            return name, more, True
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="insert" | "remove" | "clear" | "pop" | "update")
            )
        ):
            return name, None, True
        case ast.For(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return name, None, False
    return "", None, False


def _is_list(value: Any, *kinds: type) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, kinds) for one in value)


class _Call:
    """One call that makes an extension; a class only so that path and call need no passing around."""

    def __init__(self, path: Path, call: ast.Call, fold: _Fold) -> None:
        self.path, self.call, self.fold = path, call, fold
        self.what = f"{shown(str(path))} line {call.lineno}: {_called(call)}"

    def extension(self) -> Extension:
        given = self._given()
        name, sources = given.pop("name", None), given.pop("sources", None)
        if not isinstance(name, str) or not name:
            raise DefinitionError(f"{self.what}: name is {shown(name)}, want a string. Write it out, {_FROM_FILES}")
        if not sources or not _is_list(sources, str, PurePath):
            raise DefinitionError(
                f"{self.what}: sources are {shown(sources)}, want a list of file names. Write it out, {_FROM_FILES}"
            )
        includes = given.pop("include_dirs", None) or []
        if not _is_list(includes, str, PurePath):
            raise DefinitionError(f"{self.what}: include_dirs={shown(includes)}, want a list of directories")
        cxx, nvcc = self._flags(given.pop("extra_compile_args", None))
        cxx += self._macros(given.pop("define_macros", None))
        left = [key for key, value in given.items() if key not in _IGNORED and value]
        if left:
            raise DefinitionError(
                f"{self.what}: {left[0]}={shown(given[left[0]])} has no place in a kernel, which is built of its texts "
                f"alone with torch's headers and libraries: take it out, {_FROM_FILES}"
            )
        return Extension(name, tuple(map(self._below, sources)), cxx, nvcc, tuple(map(self._below, includes)))

    def _below(self, source: str | PurePath) -> str:
        """Write the path of a source as one below the directory."""
        return os.path.relpath(source, self.fold.directory) if os.path.isabs(source) else str(source)

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
            return self.fold.value(node, {})
        except Exception:  # whatever an expression raises that needs more than its text
            raise DefinitionError(
                f"{shown(str(self.path))} line {node.lineno}: {key}={shown(ast.unparse(node))} is no literal, and setup.py "
                f"is read, not run. Write it out, {_FROM_FILES}"
            ) from None

    def _flags(self, value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the flags for C++ and for CUDA; a plain list goes to both, as torch does it."""
        lists = value if isinstance(value, dict) else {"cxx": value or [], "nvcc": value or []}
        for flags in lists.values():
            if not _is_list(flags, str):
                raise DefinitionError(f"{self.what}: extra_compile_args={shown(value)}, want lists of strings")
        return tuple(lists.get("cxx", ())), tuple(lists.get("nvcc", ()))

    def _macros(self, value: Any) -> tuple[str, ...]:
        """Write `define_macros` as flags."""
        macros = value or []
        if not _is_list(macros, list, tuple) or not all(len(one) == 2 and isinstance(one[0], str) for one in macros):
            raise DefinitionError(f"{self.what}: define_macros={shown(value)}, want a list of (name, value)")
        return tuple(f"-D{name}" if text is None else f"-D{name}={text}" for name, text in macros)
