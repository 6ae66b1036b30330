"""A C++ or CUDA text as tree-sitter's tree. Nobody else knows of it: what others ask for is in `functions.py` and its like.

The tree is of a text as long as the one that is given, in which every character has one byte, so that places in one are places
in the other. Blank in it are comments, preprocessor lines, and what the grammar does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from .masks import blank, code_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

#: What the grammar does not know.
_UNKNOWN = re.compile(r"__align__\s*\((?:[^()]|\([^()]*\))*\)")
_SLOT = re.compile(r"\$\{(\w+)\}")
_WIDE = re.compile(r"[^\x01-\x7f]")
#: A line that is no C++, as Python's import is: the compiler says so, and it is no part of the type that stands behind it.
_STRAY = re.compile(r"^[ \t]*(?:include\s*[<\"]|import\s|from\s).*$", re.MULTILINE)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter_cuda  # on first use: `import lltm_inline` reads no C++
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def parse(code: str) -> Node:
    """Parse what `code_of` has returned, or a part of it; a node's bytes are characters of it."""
    plain = _STRAY.sub(_empty, _UNKNOWN.sub(_empty, _SLOT.sub(r"__\1_", code)))
    return _parser().parse(_WIDE.sub(lambda wide: "_" if wide[0].isalnum() else " ", plain).encode()).root_node


@lru_cache(maxsize=64)
def tree(text: str) -> Node:
    """Parse a whole text, with all branches of its conditions: what is rewritten is rewritten in each."""
    return parse(code_of(text, all_branches=True))


def _empty(match: re.Match[str]) -> str:
    return blank(match[0])


def below(node: Node | None, *kinds: str, but: tuple[str, ...] = ()) -> Iterator[Node]:
    """List the nodes of some kinds from one down, as they stand in the text; nothing below those of the kinds `but`."""
    left = [node] if node is not None else []
    while left:
        node = left.pop()
        if node.type in kinds:
            yield node
        if node.type not in but:
            left += reversed(node.children)
