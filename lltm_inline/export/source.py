"""Reads Python functions and classes back as text, and says which names the text takes from around it."""

from __future__ import annotations

import ast
import inspect
import linecache
import symtable
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any


@dataclass(frozen=True, order=True)
class Import:
    """One name that an import statement binds: `import math`, `from torch import Tensor`, `import numpy as np`.

    Attributes:
        module: what is imported, or imported from.
        name: what is taken from it; empty for the module itself.
        bound: the name that it gets, where that is another one.
    """

    module: str
    name: str = ""
    bound: str = ""


def definition_text(function: FunctionType, name: str) -> str:
    """Return the source of a function, beginning in the first column; a lambda becomes a `def` of that name.

    Raises:
        OSError: there is no source, as of a function typed at Python's prompt or made by `exec`.
    """
    if function.__name__ == "<lambda>":
        return _def_of_lambda(function, name)
    text = textwrap.dedent(inspect.getsource(function)).rstrip("\n") + "\n"
    try:
        definition = ast.parse(text).body[0]
    except (SyntaxError, IndexError):
        definition = None
    if not isinstance(definition, ast.FunctionDef) or definition.name != inspect.unwrap(function).__name__:
        raise OSError("the file has changed since it was imported")
    return text


def class_text(cls: type) -> str:
    """Return the source of a class, also of one from a notebook's cell.

    Raises:
        OSError: there is no source.
    """
    try:
        return textwrap.dedent(inspect.getsource(cls)).rstrip("\n") + "\n"
    except (OSError, TypeError):
        # Python looks for a class in the file of its module, and __main__ of a notebook has none. Its methods know their cell.
        for method in filter(inspect.isfunction, vars(cls).values()):
            lines = linecache.getlines(method.__code__.co_filename)
            for node in ast.walk(ast.parse("".join(lines))):
                if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
                    return textwrap.dedent("".join(lines[first - 1 : node.end_lineno])).rstrip("\n") + "\n"
        raise OSError("no source") from None


def imports_around(function: FunctionType) -> dict[str, Import]:
    """List by name what the file or notebook cell of a function takes from modules: `from torch import Tensor`."""
    try:
        tree = ast.parse("".join(inspect.findsource(function)[0]))
    except (OSError, SyntaxError):
        return {}
    return {
        alias.asname or alias.name: Import(node.module, alias.name, alias.asname or "")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    }


def _def_of_lambda(function: FunctionType, name: str) -> str:
    """Write a lambda as a function."""
    lines = "".join(inspect.findsource(function)[0])
    found = [
        node for node in ast.walk(ast.parse(lines)) if isinstance(node, ast.Lambda) and _is_code_of(function, node)
    ]
    if len(found) != 1:
        raise OSError("the file has changed since it was imported")
    body = ast.get_source_segment(lines, found[0].body) or ""
    returned = f"({body})" if "\n" in body else body
    return f"def {name}({ast.unparse(found[0].args)}):\n    return {returned}\n"


def _is_code_of(function: FunctionType, node: ast.Lambda) -> bool:
    """Tell whether a function was compiled from this very lambda: several may stand in one line."""
    body = node.body
    places = [place for place in function.__code__.co_positions() if place[2] is not None and place[3]]
    inside = [
        (body.lineno, body.col_offset) <= (line, column) and (end, end_column) <= (body.end_lineno, body.end_col_offset)
        for line, end, column, end_column in places
    ]
    return bool(inside) and all(inside)


def free_names(text: str) -> list[str]:
    """List the names that a definition takes from around it, in alphabetical order; builtins are among them.

    Example:
        >>> free_names("def area(r: Tensor) -> Tensor:\\n    pi = math.pi\\n    return square(r) * pi\\n")
        ['Tensor', 'math', 'square']
    """

    def names(table: symtable.SymbolTable) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
                yield symbol.get_name()
        for child in table.get_children():
            yield from names(child)

    table = symtable.symtable(text, "<definition>", "exec")
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    return sorted(set(names(table)) - own)


def value_of(function: Any, name: str) -> Any:
    """Return what a free name of a function stands for.

    Raises:
        NameError: for nothing, or nothing yet.
    """
    plain = inspect.unwrap(function)
    cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True))
    if name in cells:
        try:
            return cells[name].cell_contents
        except ValueError:
            raise NameError(name) from None
    if name in plain.__globals__:
        return plain.__globals__[name]
    raise NameError(name)


#: Where values may be known that do not say where they are from.
_HOMES = ("torch", "torch.nn.functional", "torch.special", "typing", "math")


def import_of(name: str, value: Any, around: Mapping[str, Import]) -> Import | None:
    """Find the import of a name by which another file gets the same value.

    Args:
        name: in the text.
        value: what it stands for.
        around: the imports of the file; a notebook may have imported it in another cell.
    """
    if isinstance(value, ModuleType):
        return Import(value.__name__, "", "" if value.__name__ == name else name)
    own = getattr(value, "__name__", None) or name
    homes = [getattr(value, "__module__", None) or "", *_HOMES]
    places = [(around[name].module, around[name].name)] if name in around else []
    for module, attribute in [*places, *((home, each) for home in homes for each in dict.fromkeys((own, name)))]:
        if is_outside(module) and getattr(sys.modules.get(module), attribute, None) is value:
            return Import(module, attribute, "" if attribute == name else name)
    return None


def is_outside(module: str) -> bool:
    """Tell whether a module comes with Python or was installed, and so can be imported elsewhere."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return True
    if top == "lltm_inline":
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def import_lines(imports: set[Import]) -> str:
    """Write import statements in the order of isort: Python's own modules, an empty line, the others.

    Example:
        >>> print(import_lines({Import("torch"), Import("torch", "Tensor"), Import("math")}))
        import math
        <BLANKLINE>
        import torch
        from torch import Tensor
    """
    sections = []
    for standard in (True, False):
        chosen = [one for one in imports if (one.module.partition(".")[0] in sys.stdlib_module_names) == standard]
        plain = sorted(one for one in chosen if not one.name)
        lines = [f"import {one.module}" + (f" as {one.bound}" if one.bound else "") for one in plain]
        for module in sorted({one.module for one in chosen if one.name}):
            taken = sorted((one for one in chosen if one.name and one.module == module), key=_order)
            together = [one.name for one in taken if not one.bound]
            lines += [f"from {module} import {', '.join(together)}"] if together else []
            lines += [f"from {module} import {one.name} as {one.bound}" for one in taken if one.bound]
        sections += ["\n".join(lines)] if lines else []
    return "\n\n".join(sections)


def _order(one: Import) -> tuple[int, str]:
    """Constants first, then classes, then the rest."""
    return (0 if one.name.isupper() and len(one.name) > 1 else 1 if one.name[0].isupper() else 2, one.name)
