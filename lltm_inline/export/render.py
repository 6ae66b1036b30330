"""Fills the templates of an export: `templates/` holds each file as it will look, with what differs from kernel to kernel in jinja.

Of a list that may be too long for its line a template says only where it stands, `f({{ names | listed }})`; where the line
has to be broken it is broken here, as a person would in that language:

    listed    C++: filled lines, four blanks further in
    turned    C++: an expression, at the end of its line or in the next one
    inner     Python: the list in one line of its own, or each item in one
    rows      Python: each item in a line of its own
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .plan import Plan

#: Columns of every file that is written.
WIDTH = 120
#: In a filled template, before the kind of a list, of each item and behind the last: no file has these characters.
_LIST, _ITEM, _END = "\1", "\2", "\3"
_BREAKABLE = re.compile(rf"(.*?){_LIST}(\w+)((?:{_ITEM}[^{_LIST}{_ITEM}{_END}]*)*){_END}(.*)")
_MARKS = re.compile(rf"{_LIST}\w+(?:{_ITEM}|(?={_END}))|{_END}")
#: What begins a comment, by the end of a file's name.
_COMMENTS = {".cpp": "//", ".cu": "//", ".h": "//", ".md": ""}


def render(template: str, plan: Plan, **values: Any) -> str:
    """Fill a template, with the plan's header on top.

    Args:
        template: its path below `templates`, without `.jinja`.
        plan: of the export: `plan`, and for short its `op` and `name`.
        values: what else the template names.
    """
    mark = _COMMENTS.get(Path(template).suffix, "#")
    header = commented(plan.header, mark) if mark else ""
    return header + fill(template, plan=plan, op=plan.op, name=plan.name, **values)


def fill(template: str, **values: Any) -> str:
    """Fill a template, and break the lines that are too long."""
    return broken(_environment().get_template(f"{template}.jinja").render(values))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.filters |= {"listed": listed, "rows": rows, "inner": inner, "quoted": quoted, "names": names}
    made.filters |= {"turned": turned, "structured": structured, "prose": lambda text: comment(" ".join(text.split()))}
    made.filters |= {"tuple": as_tuple, "dict": as_dict, "enumerated": enumerated, "wrapped": wrapped}
    return made


def _list(kind: str, items: Iterable[str]) -> str:
    return _LIST + kind + "".join(f"{_ITEM}{item}" for item in items) + _END


def listed(items: Iterable[str]) -> str:
    """Mark a list of C++ that may be broken."""
    return _list("listed", items)


def rows(items: Iterable[str]) -> str:
    """Mark a list of Python that is broken into one line for each item."""
    return _list("rows", items)


def as_tuple(items: Sequence[str]) -> str:
    """Write a tuple of Python, one of a single item with its comma; broken as `rows` are.

    Example:
        >>> broken(as_tuple(["x"]))
        '(x,)'
    """
    return f"({rows(items)}{',' * (len(items) == 1)})"


def as_dict(size: Mapping[str, int]) -> str:
    """Write a size as a dict of Python.

    Example:
        >>> as_dict({"B": 3, "F": 17})
        '{"B": 3, "F": 17}'
    """
    return "{" + ", ".join(f'"{letter}": {number}' for letter, number in size.items()) + "}"


def inner(items: Iterable[str] | str) -> str:
    """Mark a list of Python, or a text, that goes into a line of its own where that is enough."""
    return _list("inner", [items] if isinstance(items, str) else items)


def turned(item: str, deeper: int = 0) -> str:
    """Mark an expression of C++ behind a blank, where the line may be broken, to go on so many blanks further in.

    Example:
        >>> [len(line) for line in broken(f"  const auto x ={turned('1' * 110, 4)};").split("\\n")]
        [16, 117]
    """
    return _list(f"turned{deeper}", [item])


def broken(text: str) -> str:
    """Break the lists of those lines that are too long.

    Example:
        >>> broken(f"  f({listed(['a', 'b'])});")
        '  f(a, b);'
        >>> print(broken(f"x = [{rows(['1' * 60, '2' * 60])}]"))
        x = [
            111111111111111111111111111111111111111111111111111111111111,
            222222222222222222222222222222222222222222222222222222222222,
        ]
    """
    return "\n".join(_broken(line) if _LIST in line else line for line in text.split("\n"))


def _broken(marked: str) -> str:
    """Break the first list of a line if need be, then the others."""
    match = _BREAKABLE.fullmatch(marked)
    return marked if match is None else broken(_without_first(match))


def _without_first(match: re.Match[str]) -> str:
    ahead, kind, items, behind = match[1], match[2], match[3].split(_ITEM)[1:], match[4]
    turn = kind.startswith("turned")
    line = f"{ahead}{' ' * turn}{', '.join(items)}{behind}"
    if len(_MARKS.sub("", line).replace(_ITEM, ", ")) <= WIDTH:
        return line
    blanks = ahead[: len(ahead) - len(ahead.lstrip())]
    if turn:
        return f"{ahead}\n{blanks}{' ' * int(kind.removeprefix('turned'))}{items[0]}{behind}"
    whole = f"{blanks}    {', '.join(items)}"
    if kind == "inner" and (len(whole) <= WIDTH or len(items) == 1):
        return f"{ahead}\n{whole}\n{blanks}{behind}"
    if kind != "listed":
        return "\n".join([ahead, *(f"{blanks}    {item}," for item in items), f"{blanks}{behind}"])
    lines = [ahead.rstrip(), f"{blanks}   "]
    for index, item in enumerate(items):
        piece = item + ("," if index + 1 < len(items) else behind)
        if lines[-1].strip() and len(lines[-1]) + 1 + len(piece) > WIDTH:
            lines.append(f"{blanks}   ")
        lines[-1] += f" {piece}"
    return "\n".join(lines)


def quoted(items: Iterable[str]) -> list[str]:
    """Write strings as Python and C++ do.

    Example:
        >>> quoted(["x", "y"])
        ['"x"', '"y"']
    """
    return [f'"{item}"' for item in items]


def names(arguments: Iterable[Any]) -> list[str]:
    """Name arguments."""
    return [argument.name for argument in arguments]


def structured(names: Sequence[str]) -> str:
    """Write what C++ declares to take one result, or several apart.

    Example:
        >>> structured(["y"]), structured(["y", "z"])
        ('y', '[y, z]')
    """
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def enumerated(words: Sequence[str]) -> str:
    """Write words as a sentence has them.

    Example:
        >>> enumerated(["weights"]), enumerated(["weights", "bias", "scale"])
        ('weights', 'weights, bias and scale')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def wrapped(text: str, indent: str = "") -> str:
    """Break a paragraph into lines, anew; it keeps the end of its last line."""
    filled = textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return filled + "\n" * text.endswith("\n")


def commented(header: str, mark: str) -> str:
    """Write a header as comments, with an empty line behind it; nothing if there is none.

    Example:
        >>> commented("Copyright (c) 2026\\n\\nMIT", "#")
        '# Copyright (c) 2026\\n#\\n# MIT\\n\\n'
    """
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in header.split("\n")) + "\n" if header else ""


def comment(doc: str) -> str:
    """Write a docstring as a comment; paragraphs that are too wide for it are set anew, formulae moved to the left.

    Example:
        >>> comment("Scale.\\n\\n    y = c x")
        '// Scale.\\n//\\n//     y = c x\\n'
    """
    width = WIDTH - len("// ")
    paragraphs = re.split(r"(\n(?:[ \t]*\n)+)", textwrap.dedent(doc).strip("\n").rstrip())
    formulae = [_is_formula(paragraph) for paragraph in paragraphs]
    lines = [line for part, formula in zip(paragraphs, formulae, strict=True) if formula for line in part.split("\n")]
    surplus = min(max((len(line) for line in lines), default=0) - width, _INDENT - 1)
    text = ""
    for part, formula in zip(paragraphs, formulae, strict=True):
        text += re.sub(rf"^ {{{max(surplus, 0)}}}", "", part, flags=re.MULTILINE) if formula else refilled(part, width)
    # A backslash at the end of a line would swallow the next one.
    marked = (re.sub(r"\\$", r"\\ .", f"// {line}".rstrip()) for line in text.split("\n"))
    return "".join(f"{line}\n" for line in marked)


_INDENT = 4


def _is_formula(paragraph: str) -> bool:
    """Tell a formula or table, which is indented, from prose."""
    lines = [line for line in paragraph.split("\n") if line.strip()]
    return bool(lines) and all(line.startswith(" " * _INDENT) for line in lines)


def refilled(paragraph: str, width: int = WIDTH) -> str:
    """Break the lines of a paragraph that is too wide anew; a formula stays as it is."""
    lines = paragraph.split("\n")
    if all(len(line) <= width for line in lines) or _is_formula(paragraph):
        return paragraph
    items: list[str] = []
    for line in lines:
        if not items or re.match(_MARK, line):
            items.append(line)
        else:
            items[-1] += f" {line.strip()}"
    return "\n".join(_filled(item, width) for item in items)


#: What a paragraph of a list begins with.
_MARK = r"\s*(?:[*-]|\d+\.)\s+"


def _filled(item: str, width: int) -> str:
    mark = re.match(_MARK, item) or re.match(r"\s*", item)
    assert mark is not None
    return textwrap.fill(
        item, width, subsequent_indent=" " * len(mark[0]), break_long_words=False, break_on_hyphens=False
    )
