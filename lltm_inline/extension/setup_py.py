"""Reads the extensions that a `setup.py` declares. It is parsed and never run: it is somebody else's program.

What is no literal is worked out as far as that needs no more than the text and the names of the files beside it: variables that
are set once, sums, f-strings, `glob`, `os.path`, `pathlib`, `__file__`.
"""

from __future__ import annotations

import ast
import glob
import os
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from types import SimpleNamespace
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


#: What a statement may be made of, and what may stand behind a dot in it: what needs no more than text and names of files.
_NODES = (
    *(ast.Constant, ast.Name, ast.expr_context, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred, ast.JoinedStr),
    *(ast.FormattedValue, ast.BinOp, ast.Add, ast.Div, ast.Mod, ast.UnaryOp, ast.USub, ast.Subscript, ast.ListComp),
    *(ast.comprehension, ast.Attribute, ast.Call, ast.keyword, ast.Assign, ast.AnnAssign),
    *(ast.AugAssign, ast.Expr),
)
_PATH = ("join", "dirname", "basename", "relpath", "splitext", "normpath")
_BEHIND_A_DOT = {*_PATH, "path", "abspath", "realpath", "getcwd", "Path", "cwd", "glob", "iglob", "rglob", "parent"} | {
    *("name", "stem", "resolve", "absolute", "as_posix", "with_suffix", "format", "replace", "copy", "append", "extend")
}


def _known(path: Path) -> dict[str, Any]:
    """Return what an expression may name besides variables; none of it changes a file."""
    directory = path.parent.resolve()

    class Named(PurePosixPath):
        """A `pathlib.Path` that is a name alone, but for looking for files."""

        @classmethod
        def cwd(cls) -> Named:
            return cls(directory)

        def resolve(self) -> Named:
            return self

        def glob(self, pattern: str) -> list[Named]:
            return sorted(map(type(self), (directory / self).glob(pattern)))

        def rglob(self, pattern: str) -> list[Named]:
            return self.glob(f"**/{pattern}")

        absolute = resolve

    def found(pattern: str, **_: Any) -> list[str]:
        return sorted(os.path.join(directory, one) for one in glob.glob(pattern, root_dir=directory, recursive=True))

    vars(found).update(glob=found, iglob=found)  # the module is called as its function is
    own = {name: getattr(os.path, name) for name in _PATH}
    of_path = SimpleNamespace(**own, **dict.fromkeys(("abspath", "realpath"), os.path.normpath))
    modules = {"os": SimpleNamespace(path=of_path, getcwd=lambda: str(directory)), "path": of_path, "glob": found}
    modules |= {"Path": Named, "pathlib": SimpleNamespace(Path=Named), "__file__": str(directory / path.name)}
    return modules | {function.__name__: function for function in (sorted, list, tuple, str, set)}


class _Fold:
    """Works out the values of expressions."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self.directory, self.known = path.parent.resolve(), _known(path)
        self.steps: dict[str, list[ast.stmt]] = {}
        #: Names of which a condition or a loop decides.
        self.open: set[str] = set()
        self._collect(tree, sure=True)

    def _collect(self, node: ast.AST, sure: bool) -> None:
        """Note what sets names, and what changes these, in the order of the text."""
        for child in ast.iter_child_nodes(node):
            name, changes = _step(child)
            if name and isinstance(child, ast.stmt) and sure and bool(self.steps.get(name)) == changes:
                self.steps.setdefault(name, []).append(child)
            elif name:
                self.open.add(name)
            branches = isinstance(child, ast.If | ast.For | ast.While | ast.Try | ast.ExceptHandler)
            is_main = isinstance(child, ast.If) and ast.unparse(child.test) == "__name__ == '__main__'"
            self._collect(child, sure and (not branches or is_main))

    def value(self, node: ast.expr) -> Any:
        """Work out one expression.

        Raises:
            Exception: only running the file would tell.
        """
        return eval(ast.unparse(node), self._names_in(node))

    def _names_in(self, node: ast.AST) -> dict[str, Any]:
        """Return what the names in a piece of the text stand for, where that may be run."""
        nodes = [*ast.walk(node)]
        for one in nodes:
            if not isinstance(one, _NODES) or (isinstance(one, ast.Attribute) and one.attr not in _BEHIND_A_DOT):
                raise LookupError(ast.unparse(one))
        names = [one for one in nodes if isinstance(one, ast.Name)]
        own = {one.id for one in names if isinstance(one.ctx, ast.Store)}
        found = {name: self._variable(name) for name in {one.id for one in names} & {*self.steps} - own}
        return {"__builtins__": {}, **self.known, **found}

    def _variable(self, name: str) -> Any:
        if name in self.open:
            raise LookupError(name)
        steps, value = self.steps.pop(name), None  # what names itself is not known
        try:
            for step in steps:
                names = self._names_in(step) | {name: value}
                exec(ast.unparse(step), names)
                value = names[name]
        finally:
            self.steps[name] = steps
        return value


def _step(node: ast.AST) -> tuple[str, bool | None]:
    """Tell which name a statement sets, and whether it changes what that is; None where a loop decides."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name, False
        case ast.AnnAssign(target=ast.Name(id=name)):
            node.annotation = ast.Constant(None)  # which nobody needs to know
            return name, False
        case ast.AugAssign(target=ast.Name(id=name)):
            return name, True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name, True
        case ast.For(target=ast.Name(id=name)):
            return name, None
    return "", None


def _is_list(value: Any, *kinds: type) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, kinds) for one in value)


class _Call:
    """One call that makes an extension; a class only so that path and call need no passing around."""

    def __init__(self, path: Path, call: ast.Call, fold: _Fold) -> None:
        self.path, self.call, self.fold = path, call, fold
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
        self.require(sources and _is_list(sources, str, PurePath), f"sources are {shown(sources)}, {wants}")
        includes = given.pop("include_dirs", None) or []
        listed = _is_list(includes, str, PurePath)
        self.require(listed, f"include_dirs={shown(includes)}, want a list of directories")
        cxx, nvcc = self._flags(given.pop("extra_compile_args", None))
        cxx += self._macros(given.pop("define_macros", None))
        for key, value in given.items():
            self.require(
                key in _IGNORED or not value,
                f"{key}={shown(value)} has no place in a kernel, which is built of its texts alone with torch's headers and "
                f"libraries: take it out, {_FROM_FILES}",
            )
        return Extension(name, tuple(map(self._below, sources)), cxx, nvcc, tuple(map(self._below, includes)))

    def _below(self, source: str | PurePath) -> str:
        """Write the path of a source as one below the directory."""
        return os.path.relpath(source, self.fold.directory) if os.path.isabs(source) else str(source)

    def _given(self) -> dict[str, Any]:
        """Return the arguments by name, as far as they are literals."""
        plain = len(self.call.args) <= len(_ORDER) and all(keyword.arg for keyword in self.call.keywords)
        wrong = "arguments with * or **, or more than name and sources by position. Write them out by name"
        self.require(plain, f"{wrong}, {_FROM_FILES}")
        nodes = dict(zip(_ORDER, self.call.args, strict=False))
        nodes |= {keyword.arg: keyword.value for keyword in self.call.keywords if keyword.arg}
        return {key: self._literal(key, node) for key, node in nodes.items() if key not in _IGNORED}

    def _literal(self, key: str, node: ast.expr) -> Any:
        try:
            return self.fold.value(node)
        except Exception:  # whatever an expression raises that needs more than its text
            raise DefinitionError(
                f"{shown(str(self.path))} line {node.lineno}: {key}={shown(ast.unparse(node))} is no literal, and setup.py "
                f"is read, not run. Write it out, {_FROM_FILES}"
            ) from None

    def _flags(self, value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the flags for C++ and for CUDA; a plain list goes to both, as torch does it."""
        lists = value if isinstance(value, dict) else {"cxx": value or [], "nvcc": value or []}
        listed = all(_is_list(flags, str) for flags in lists.values())
        self.require(listed, f"extra_compile_args={shown(value)}, want lists of strings")
        return tuple(lists.get("cxx", ())), tuple(lists.get("nvcc", ()))

    def _macros(self, value: Any) -> tuple[str, ...]:
        """Write `define_macros` as flags."""
        macros = value or []
        pairs = _is_list(macros, list, tuple) and all(len(one) == 2 and isinstance(one[0], str) for one in macros)
        self.require(pairs, f"define_macros={shown(value)}, want a list of (name, value)")
        return tuple(f"-D{name}" if text is None else f"-D{name}={text}" for name, text in macros)
