"""Lists between commas: of arguments, of template arguments, of parameters."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from .tree import below, parse

if TYPE_CHECKING:
    from tree_sitter import Node

#: What a list may be of, with what stands around it there; the first as which it has no error counts.
_AS = (("f(", ");", "argument_list"), ("f<", "> x;", "template_argument_list"), ("void f(", ");", "parameter_list"))


@lru_cache(maxsize=512)
def split(text: str) -> tuple[str, ...]:
    """Split a list at its commas.

    >>> split("a < b, f<int, 3>(c)"), split("v[0, 1], p->n"), split("std::tuple<A, B>, const C&")
    (('a < b', ' f<int, 3>(c)'), ('v[0, 1]', ' p->n'), ('std::tuple<A, B>', ' const C&'))
    """
    commas = next((found for way in _AS if (found := _commas(text, *way)) is not None), None)
    if commas is None:  # no list of C++, or a part of one
        commas = _outside_of_brackets(text)
    return _between(text, 0, commas, len(text))


def parts_of(text: str, listed: Node, place: int = 0) -> tuple[str, ...]:
    """Return what stands between the commas of a list in the tree of a text, of which that of the node begins at `place`."""
    start, end = place + listed.start_byte + 1, place + listed.end_byte - 1
    if listed.has_error:
        parts = split(text[start:end])
    else:
        parts = _between(text, start, [place + one.start_byte for one in listed.children if one.type == ","], end)
    return tuple(map(str.strip, parts))


def _between(text: str, start: int, commas: list[int], end: int) -> tuple[str, ...]:
    starts = [start, *(one + 1 for one in commas)]
    parts = (text[start:end] for start, end in zip(starts, [*commas, end], strict=True))
    return tuple(part for part in parts if part.strip())


def _commas(text: str, ahead: str, behind: str, kind: str) -> list[int] | None:
    root = parse(ahead + text + behind)
    found = next(below(root, kind), None)
    if root.has_error or found is None or found.end_byte != len(ahead) + len(text) + 1:
        return None
    return [one.start_byte - len(ahead) for one in found.children if one.type == ","]


def _outside_of_brackets(text: str) -> list[int]:
    commas, depth = [], 0
    for mark in re.finditer(r"[()\[\]{},]", text):
        depth += (mark[0] in "([{") - (mark[0] in ")]}")
        if mark[0] == "," and depth == 0:
            commas.append(mark.start())
    return commas
