"""Notebooks as data: cells by nbgrader's `grade_id`, what a `%%kernel` cell says, the value of a cell. Nothing is executed."""

from __future__ import annotations

import ast
import json
from argparse import Namespace
from dataclasses import dataclass
from typing import Any

from ..base.arguments import shown
from ..base.device import DEVICES
from ..errors import InputError
from ..notebook.cell import is_cuda, text_of
from ..notebook.options import parse

BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"
#: Of a larger notebook nothing is read: pictures and logs are in its outputs.
MOST_BYTES = 16 * 2**20
MOST_LETTERS = 200_000
_MOST_CELLS = 100_000
_LONGEST_VALUE, _LONGEST_LINE = 1000, 2000
_MAGIC = "%%kernel"


@dataclass(frozen=True)
class KernelCell:
    """What a `%%kernel` cell says.

    Attributes:
        options: of its first line.
        text: below it; line n of the text is line n of the cell.
        starter: the text without the lines of the solution.
        kind: `cpp` or `cuda`.
        settings: the fields of a kernel that its first line sets, params apart.
    """

    options: Namespace
    text: str
    starter: str
    kind: str
    settings: dict[str, Any]


def read_notebook(data: bytes, where: str) -> dict[str, Any]:
    """Read the file of a notebook.

    Raises:
        InputError: it is too large, no JSON, or no notebook of format 4.
    """
    if said := too_large(where, len(data)):
        raise InputError(said)
    try:
        book = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no notebook: {str(error)[:100]}") from None
    version = book.get("nbformat") if isinstance(book, dict) else None
    if version != 4:
        raise InputError(f"{where} is a notebook of format {shown(version)}, want 4: open and save it with JupyterLab")
    cells = book.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise InputError(f"{where} is no notebook: it has no list of cells")
    if len(cells) > _MOST_CELLS:
        raise InputError(f"{where} has {len(cells)} cells, want at most {_MOST_CELLS}")
    return book


def too_large(where: str, size: int) -> str:
    """Say that a notebook of so many bytes is not read; nothing of one that is."""
    return f"{where} has {size >> 20} MiB, more than {MOST_BYTES >> 20}: clear its outputs" if size > MOST_BYTES else ""


def grade_id(cell: dict[str, Any]) -> str:
    """Return nbgrader's name of a cell; empty where it has none."""
    metadata = cell.get("metadata")
    ours = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = ours.get("grade_id") if isinstance(ours, dict) else None
    return name if isinstance(name, str) else ""


def is_locked(cell: dict[str, Any]) -> bool:
    """Tell whether a cell is one that students leave as it is."""
    return bool(grade_id(cell)) and cell["metadata"]["nbgrader"].get("locked") is True


def source_of(cell: dict[str, Any]) -> str:
    """Return the text of a cell, which a notebook keeps whole or line by line; half a character, which no file can hold, is a `?`."""
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    if not all(isinstance(line, str) for line in lines):
        raise InputError(f"cell {shown(grade_id(cell))} has no text")
    return "".join(lines).encode(errors="replace").decode()


def cell_of(book: dict[str, Any], name: str) -> str:
    """Return the text of the one code cell of that `grade_id`.

    Raises:
        InputError: it is missing, there are several, or it is no code cell any more.
    """
    found = [cell for cell in book["cells"] if grade_id(cell) == name]
    if len(found) != 1:
        raise InputError(f"cell {name!r} is {f'there {len(found)} times' if found else 'missing'}, want it once")
    if found[0].get("cell_type") != "code":
        raise InputError(f"cell {name!r} is a {shown(found[0].get('cell_type'))} cell, want a code cell")
    source = source_of(found[0])
    if len(source) > MOST_LETTERS:
        raise InputError(f"cell {name!r} has {len(source)} letters, want at most {MOST_LETTERS}")
    return source


def kernel_cell(source: str, name: str) -> KernelCell:
    """Read a `%%kernel` cell.

    Raises:
        InputError: it is none, has no text, an option that makes no sense, or one that a lab has no use for.
    """
    body = source.lstrip("\n")
    first, _, text = body.partition("\n")
    if len(first) > _LONGEST_LINE:
        raise InputError(f"cell {name!r}: its first line has {len(first)} letters, want at most {_LONGEST_LINE}")
    if first.split()[:1] != [_MAGIC]:
        raise InputError(f"cell {name!r} begins with {shown(first)}, want {_MAGIC} and the name of the kernel")
    options = parse(first.removeprefix(_MAGIC))
    for option, value in (("--from", options.source), ("--flags", options.flags), ("--binding", options.binding)):
        if value:
            raise InputError(f"cell {name!r}: {option} cannot be graded: the text alone must be the kernel")
    kind = options.kind or ("cuda" if is_cuda(text) and not options.device else DEVICES[options.device or "cpu"].text)
    if kind == "binding":
        raise InputError(f"cell {name!r}: --kind binding cannot be graded: the binding is generated")
    given = {"saves": options.saves, "slots": dict(options.slots), "api": options.api}
    text = text_of(text, len(source) - len(body))
    starter = cut(text, name)
    return KernelCell(options, text, starter, kind, {field: value for field, value in given.items() if value})


def cut(text: str, name: str) -> str:
    """Take the lines from `BEGIN SOLUTION` to `END SOLUTION` out, and those that say so, as nbgrader does.

    Raises:
        InputError: one of the two is without the other.

    Example:
        >>> cut("int x;\\n// BEGIN SOLUTION\\nx = 3;\\n// END SOLUTION\\nreturn x;", "sum")
        'int x;\\nreturn x;'
    """
    kept: list[str] = []
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        mark = line.strip().removeprefix("//").strip() if line.strip().startswith("//") else ""
        if mark in (BEGIN, END):
            if inside is (mark == BEGIN):
                raise InputError(f"cell {name!r}, line {number}: // {mark} without the one before it")
            inside = not inside
        elif not inside:
            kept.append(line)
    if inside:
        raise InputError(f"cell {name!r}: // {BEGIN} without // {END}")
    return "\n".join(kept)


def value_of(source: str) -> str:
    """Return the value that a cell has, alone or behind a name and `=`, as Python writes it; empty where it is still `...`.

    Raises:
        InputError: it is no literal, or a long one.

    Example:
        >>> value_of("moved = 12  # bytes"), value_of("moved = ..."), value_of("[1, -2.5]")
        ('12', '', '[1, -2.5]')
    """
    # Short ones only: a text can be nested so deeply that Python's own parser gives up.
    if len(source) <= _LONGEST_VALUE:
        try:
            body = ast.parse(source.strip()).body
            value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Assign | ast.Expr) else None
            if not body or (isinstance(value, ast.Constant) and value.value is ...):
                return ""
            if value is not None:
                found = ast.literal_eval(value)
                json.dumps(found, allow_nan=False)  # infinity, `...`, bytes and the like are no values here
                return repr(found)
        except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
            pass
    raise InputError(f"the cell has {shown(source, 60)}, want one value, such as `answer = 12`")
