"""What stands in the body of a function: calls, and what it returns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .lists import split
from .masks import mask
from .tree import below, parse

if TYPE_CHECKING:
    from tree_sitter import Node

#: Statements are parsed within a function.
_AHEAD = "void f() {"


@dataclass(frozen=True)
class Call:
    """One call: `f<float>(a, b)` is `("f", False, ("a", "b"))`, `m.def("f", &f)` is `("def", True, ('"f"', "&f"))`."""

    name: str
    is_member: bool
    arguments: tuple[str, ...]


@lru_cache(maxsize=256)
def find_calls(body: str) -> tuple[Call, ...]:
    """List the calls in a body, those of lambdas among them, in the order of their brackets; launches of kernels are none.

    >>> [(call.name, call.arguments) for call in find_calls("return a::f<int>(x, g(y));")]
    [('f', ('x', 'g(y)')), ('g', ('y',))]
    """
    found = dict[int, Call]()
    for node in below(_body(body), "call_expression"):
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is not None and given is not None and called.next_sibling == given:
            name = re.search(r"(\w+)\s*(?:<.*>)?\Z", _text(body, called), re.DOTALL)
            arguments = tuple(map(str.strip, split(_text(body, given)[1:-1])))
            found[given.start_byte] = Call(name[1] if name else "", called.type == "field_expression", arguments)
    return tuple(found[place] for place in sorted(found))


@lru_cache(maxsize=256)
def find_returns(body: str) -> tuple[str, ...]:
    """List what stands behind each `return` of a body, but for those of lambdas.

    >>> find_returns("if (x) return {a, b}; auto f = [] { return 1; }; return f(x);")
    ('{a, b}', 'f(x)')
    """
    plain = mask(body)
    for one in below(_body(body), "lambda_expression"):
        start, end = one.start_byte - len(_AHEAD), one.end_byte - len(_AHEAD)
        plain = plain[:start] + " " * (end - start) + plain[end:]
    return tuple(body[one.start(1) : one.end(1)].strip() for one in re.finditer(r"\breturn\b([^;]*)", plain))


def _body(body: str) -> Node:
    return parse(f"{_AHEAD}{body}}}")


def _text(body: str, node: Node) -> str:
    return body[node.start_byte - len(_AHEAD) : node.end_byte - len(_AHEAD)]
