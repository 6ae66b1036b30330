"""The variables that a C++ text declares, in functions and outside of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .functions import squeezed
from .masks import code_of
from .tree import below, tree

#: What stands before a type and is no part of it.
_WORDS = ("storage_class_specifier", "type_qualifier", "attribute_specifier", "__device__")


@dataclass(frozen=True)
class Declaration:
    """One declaration of variables: of `static __shared__ float a[3], b;` it is `("static __shared__", "float", ("a", "b"))`.

    Attributes:
        words: what stands before the type.
        type: of the first of them.
        names: of the variables.
        has_value: one of them has an initial value.
        is_open: it is an array without a size, `float memory[]`.
        start, end: where it begins, and where its `;` stands.
    """

    words: str
    type: str
    names: tuple[str, ...]
    has_value: bool
    is_open: bool
    start: int
    end: int


@lru_cache(maxsize=16)
def find_declarations(text: str) -> tuple[Declaration, ...]:
    """List the declarations of variables in a text, but not those of functions and members of classes.

    >>> [(one.type, one.names) for one in find_declarations("int n, f(int); void g() { const float* x = 0; }")]
    [('const float*', ('x',))]
    """
    code, found = code_of(text, all_branches=True), []
    for node in below(tree(text), "declaration"):
        declarators, type_ = node.children_by_field_name("declarator"), node.child_by_field_name("type")
        names = [next(below(one, "identifier"), None) for one in declarators]
        if type_ is None or not names or node.children[-1].type != ";":
            continue
        if any(next(below(one, "function_declarator", but=("init_declarator",)), None) for one in declarators):
            continue
        words = [code[one.start_byte : one.end_byte] for one in node.children if one.type in _WORDS]
        begins = names[0].start_byte if names[0] else type_.end_byte
        first = declarators[0]
        found.append(
            Declaration(
                " ".join(one for one in words if one != "const"),
                squeezed("const " * ("const" in words) + code[type_.start_byte : begins]),
                tuple(code[one.start_byte : one.end_byte] for one in names if one),
                any(one.type == "init_declarator" for one in declarators),
                len(names) == 1 and first.type == "array_declarator" and first.child_by_field_name("size") is None,
                node.start_byte,
                node.end_byte - 1,
            )
        )
    return tuple(found)
