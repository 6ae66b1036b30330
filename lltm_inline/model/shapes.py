"""Shapes written in letters: `"3S S+F"` is a matrix of 3*S rows and S+F columns.

An op declares the shape of every tensor this way once. Input generators, the checks in generated bindings, fake
kernels for torch.compile, error messages and the names of sizes all follow from it.

`"..."` is any shape, the same for every tensor of the op that has it; its number of elements is the letter N.

An output may have extents that are no sums, of letters and of the op's integers by name, `"B (H-K+2*pad)/stride+1"`, where `/`
rounds down; one whose shape follows from the values is `"?"`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from ..base.arguments import LARGEST, plural, shown
from ..errors import DefinitionError, InputError

_TERM = re.compile(r"([+-]?)([0-9]{0,9})\*?([A-Z]?)")  # more digits would not fit into the integers of a binding

#: The text of a shape of any rank, and the letter of its number of elements.
ANY_RANK, ELEMENTS = "...", "N"

#: The text of a shape that follows from the values.
UNTOLD = "?"

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True)
class Dim:
    """One extent: the sum of `count * letter` terms and a constant; `3S+1` is `(("S", 3),), 1`."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    @classmethod
    def parse(cls, text: str) -> Dim:
        terms: list[tuple[str, int]] = []
        constant = 0
        position = 0
        while position < len(text) or not text:
            match = _TERM.match(text, position)
            if match is None or not (match[2] or match[3]) or (position and not match[1]):
                raise DefinitionError(
                    f"extent {shown(text)} is not a sum of terms like B, 3S or 1 (at {shown(text[position:])}). Write one letter "
                    "for each axis, blanks between the axes, and none inside a sum: 'B 3S S+F'"
                )
            count = int(f"{match[1]}{match[2] or 1}")
            if match[3]:
                terms.append((match[3], count))
            else:
                constant += count
            position = match.end()
        return cls(tuple(terms), constant)

    def __call__(self, sizes: Mapping[str, int]) -> int:
        return sum(count * sizes[letter] for letter, count in self.terms) + self.constant

    def __str__(self) -> str:
        """Write the sum as C++ and Python do.

        Example:
            >>> [str(Dim.parse(text)) for text in ("H-K+1", "3S", "2", "-K")]
            ['H - K + 1', '3 * S', '2', '-K']
        """
        words = [(count, f"{abs(count)} * {letter}" if abs(count) != 1 else letter) for letter, count in self.terms]
        words += [(self.constant, str(abs(self.constant)))] if self.constant or not self.terms else []
        text = " ".join(f"{'-' if count < 0 else '+'} {word}" for count, word in words)
        return f"-{text[2:]}" if text.startswith("-") else text[2:]

    @property
    def letter(self) -> str | None:
        """The letter, when the extent is just one."""
        return self.terms[0][0] if len(self.terms) == 1 and self.terms[0][1] == 1 and not self.constant else None


@dataclass(frozen=True)
class Formula:
    """One extent of an output that is no sum of letters.

    Example:
        >>> extent = Formula.parse("(H-K)/stride+1")
        >>> str(extent), extent({"H": 7, "K": 2, "stride": 2}), extent.names
        ('(H - K) // stride + 1', 3, ('H', 'K', 'stride'))
    """

    text: str
    names: tuple[str, ...]
    letter = None

    @classmethod
    def parse(cls, text: str) -> Formula:
        spelled = re.sub(r"(?<![\w])(\d+)(?=[A-Za-z(])", r"\1*", text).replace("//", "/").replace("/", "//")
        try:
            tree = ast.parse(spelled, mode="eval")
            names = tuple(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", spelled)))
            _value(tree.body, dict.fromkeys(names, 1))
        except (SyntaxError, ValueError, TypeError, ZeroDivisionError):
            raise DefinitionError(
                f"extent {shown(text)} is no formula of letters, numbers and integers of the op, with + - * / and brackets, and "
                "without blanks: '(H-K)/stride+1'"
            ) from None
        return cls(ast.unparse(tree), names)

    @property
    def terms(self) -> tuple[tuple[str, int], ...]:
        """The letters, as of a sum."""
        return tuple((name, 1) for name in self.names if _is_letter(name))

    def __call__(self, sizes: Mapping[str, Any]) -> Any:
        return _value(ast.parse(self.text, mode="eval").body, sizes)

    def __str__(self) -> str:
        return self.text


def _is_letter(name: str) -> bool:
    return len(name) == 1 and name.isupper()


def _value(node: ast.expr, sizes: Mapping[str, Any]) -> Any:
    """Compute a formula."""
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, sizes), _value(node.right, sizes))
    raise ValueError(ast.unparse(node))


@dataclass(frozen=True)
class Shape:
    """The extents of one tensor, with the text they were written in.

    >>> shape = Shape.parse("3S S+F")
    >>> shape({"S": 5, "F": 17})
    (15, 22)
    >>> str(shape)
    '(3S, S+F)'
    >>> Shape.parse("...").any_rank
    True
    """

    dims: tuple[Dim | Formula, ...]
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, *, of_output: bool = False) -> Shape:
        """Read the shape of an input, or of an output, which may be a formula."""
        if not isinstance(text, str):
            raise DefinitionError(
                f"a shape is {shown(text)}, want extents in a string: '3S S+F', or of an output '(L-k)/2'"
            )
        words = tuple(text.split())
        if of_output and words == (UNTOLD,):
            return cls((), words)
        if words == (ANY_RANK,):
            return cls((Dim(((ELEMENTS, 1),)),), words)
        if ANY_RANK in words:
            raise DefinitionError(f"shape {shown(text)}: '...' is a whole shape, of any rank, and stands alone")
        special = {*ascii_lowercase, *"*/()"} if of_output else set[str]()
        return cls(tuple(Formula.parse(word) if special & {*word} else Dim.parse(word) for word in words), words)

    def __call__(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(dim(sizes) for dim in self.dims)

    def __str__(self) -> str:
        return f"({', '.join(self.words)})"

    @property
    def any_rank(self) -> bool:
        """True for `"..."`; as a size it counts as one axis of N elements."""
        return self.words == (ANY_RANK,)

    @property
    def untold(self) -> bool:
        """True for `"?"`, a shape that follows from the values."""
        return self.words == (UNTOLD,)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The integers of the op that the shape follows from, beside letters."""
        names = (name for dim in self.dims if isinstance(dim, Formula) for name in dim.names)
        return tuple(name for name in names if not _is_letter(name))

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(letter for dim in self.dims for letter, _ in dim.terms))


def letters_of(shapes: Sequence[Shape]) -> tuple[str, ...]:
    """List the letters of several shapes in the order in which a reader meets them as whole extents."""
    whole = [dim.letter for shape in shapes for dim in shape.dims if dim.letter]
    letters = tuple(dict.fromkeys(whole))
    if unbound := ", ".join(sorted({letter for shape in shapes for letter in shape.letters} - set(letters))):
        raise DefinitionError(f"no tensor has {unbound} as a whole extent, so it cannot be told from the inputs")
    return letters


def solve(shapes: Sequence[Shape]) -> dict[str, tuple[int, int, Dim]]:
    """Say how the letters of a size follow from the shapes of tensors, in an order in which each needs those before it only.

    An extent that is one letter says what that is; then `3S` gives S, and `S+F` gives F where S is known. The number of
    elements is known where a tensor may have any shape.

    Returns:
        For each letter which of the shapes gives it, on which axis, by which extent.

    Example:
        >>> {letter: where[:2] for letter, where in solve([Shape.parse("3S S+F"), Shape.parse("B")]).items()}
        {'B': (1, 0), 'S': (0, 0), 'F': (0, 1)}
    """
    found: dict[str, tuple[int, int, Dim]] = {}
    given = {ELEMENTS} if any(shape.any_rank for shape in shapes) else set()
    equations = [
        (which, axis, dim)
        for which, shape in enumerate(shapes)
        if not shape.any_rank
        for axis, dim in enumerate(shape.dims)
        if isinstance(dim, Dim)
    ]
    for equation in equations:
        if equation[2].letter:
            found.setdefault(equation[2].letter, equation)
    count = -1
    while count < len(found):  # each round may make the next one possible
        count = len(found)
        for equation in equations:
            unknown = [letter for letter, _ in equation[2].terms if letter not in found and letter not in given]
            if len(unknown) == 1:
                found[unknown[0]] = equation
    return found


def named_size(letters: Sequence[str], size: Sequence[int]) -> dict[str, int]:
    """Pair the letters of an op with the numbers of one size; refuse what does not fit."""
    wanted = f"{plural(len(letters), 'non-negative integer')} ({', '.join(letters)})"
    if not letters:
        wanted = "(), as no shape of the op has a letter: all its sizes are fixed"
    if not isinstance(size, Sequence) or isinstance(size, str | bytes):
        raise InputError(f"size {shown(size)} is no tuple: want {wanted}")
    if len(size) != len(letters) or any(
        not isinstance(n, int) or isinstance(n, bool) or not 0 <= n <= LARGEST for n in size
    ):
        raise InputError(f"size {shown(tuple(size))} does not fit: want {wanted}")
    return dict(zip(letters, size, strict=True))
