"""Writes how the letters of a size follow from the shapes of tensors, as lines of Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...shapes import ELEMENTS, Dim, Shape

#: Ahead of a file in which extents have such names.
QUIET = "# ruff: noqa: E741  (letters of shapes may be I and O)\n"


def extent(dim: Dim) -> str:
    """Write an extent as Python does.

    Example:
        >>> [extent(Dim.parse(text)) for text in ("H-K+1", "3S", "2")]
        ['H - K + 1', '3 * S', '2']
    """
    words = [(count, f"{abs(count)} * {letter}" if abs(count) != 1 else letter) for letter, count in dim.terms]
    words += [(dim.constant, str(abs(dim.constant)))] if dim.constant or not dim.terms else []
    text = " ".join(f"{'-' if count < 0 else '+'} {word}" for count, word in words)
    return f"-{text[2:]}" if text.startswith("-") else text[2:]


def in_letters(shape: Shape) -> str:
    """Write a shape for people: `(B, 3S)`, `any shape`, `a scalar`.

    Example:
        >>> in_letters(Shape.parse("B S+F"))
        '(B, S+F)'
    """
    if shape.any_rank:
        return "any shape"
    if not shape.dims:
        return "a scalar"
    return f"({', '.join(extent(dim).replace(' * ', '').replace(' ', '') for dim in shape.dims)})"


@dataclass
class Letters:
    """Python lines that take the letters of a size from the shapes of tensors, as far as they follow.

    Attributes:
        lines: without indentation.
        values: what stands for each known letter.
        any_shape: what stands for the shape `...`; empty when no tensor has it.
        checked: the tensors whose shape needs no further look: the lines take them apart.
    """

    lines: list[str] = field(default_factory=list)
    values: set[str] = field(default_factory=set)
    any_shape: str = ""
    checked: set[str] = field(default_factory=set)

    def tells(self, shape: Shape) -> bool:
        """Tell whether the extents of a shape are known."""
        return bool(self.any_shape) if shape.any_rank else self.values.issuperset(shape.letters)

    def arguments(self, shape: Shape) -> str:
        """Write the arguments of `new_empty` for a shape."""
        if shape.any_rank:
            return self.any_shape
        return ", ".join(map(extent, shape.dims)) or "()"


def letters_from(tensors: Sequence[tuple[str, Shape]], needed: Iterable[Shape]) -> Letters:
    """Write how the letters of the shapes `needed` follow from tensors, by the steps in which the playground's bindings go.

    An extent that is one letter says what that is; then `3S` gives S, and `S+F` gives F where S is known.

    Args:
        tensors: names in the function, each with its shape.
        needed: the shapes that are to be written down.

    Example:
        >>> letters_from([("x", Shape.parse("B 3S"))], [Shape.parse("B S")]).lines
        ['B = x.shape[0]', 'S = x.shape[1] // 3']
    """
    elements = next((name for name, shape in tensors if shape.any_rank), "")
    found = Letters(any_shape=f"{elements}.shape" if elements else "")
    sources: dict[str, tuple[str, int, Dim]] = {}
    equations = [(name, i, dim) for name, shape in tensors if not shape.any_rank for i, dim in enumerate(shape.dims)]
    for name, index, dim in equations:
        if dim.letter:
            sources.setdefault(dim.letter, (name, index, dim))
    count = -1
    while count < len(sources):
        count = len(sources)
        for name, index, dim in equations:
            unknown = [
                letter for letter, _ in dim.terms if letter not in sources and (letter != ELEMENTS or not elements)
            ]
            if len(unknown) == 1:
                sources[unknown[0]] = (name, index, dim)
    letters = {letter for shape in needed if not shape.any_rank for letter in shape.letters}
    _write(found, sources, _closed(letters, sources), dict(tensors), elements)
    return found


def _closed(letters: set[str], sources: dict[str, tuple[str, int, Dim]]) -> set[str]:
    """Add the letters from which others follow."""
    while True:
        more = {other for letter in letters & set(sources) for other, _ in sources[letter][2].terms} | letters
        if more == letters:
            return letters
        letters = more


def _write(
    found: Letters, sources: dict[str, tuple[str, int, Dim]], letters: set[str], shapes: dict[str, Shape], elements: str
) -> None:
    """Write a line for each tensor that gives letters, and one for each letter that needs a computation."""
    whole: dict[str, dict[int, str]] = {}
    for letter, (name, index, dim) in sources.items():
        if letter in letters and dim.letter:
            whole.setdefault(name, {})[index] = letter
    for name, by_index in whole.items():
        dims = len(shapes[name].dims)
        if len(by_index) == 1 and dims > 1:
            ((index, letter),) = by_index.items()
            found.lines.append(f"{letter} = {name}.shape[{index}]")
        else:
            names = [by_index.get(index, "_") for index in range(dims)]
            found.lines.append(f"{', '.join(names)} = {name}.shape" if dims > 1 else f"({names[0]},) = {name}.shape")
            if len(by_index) == dims:
                found.checked.add(name)
    found.values |= {letter for by_index in whole.values() for letter in by_index.values()}
    if ELEMENTS in letters and elements:
        found.lines.append(f"{ELEMENTS} = {elements}.numel()")
        found.values.add(ELEMENTS)
    pending = [letter for letter in sources if letter in letters and letter not in found.values]
    for letter in pending:  # in the order in which they were solved, each from those before it
        name, index, dim = sources[letter]
        found.lines.append(f"{letter} = {_solved(f'{name}.shape[{index}]', letter, dim)}")
        found.values.add(letter)


def _solved(value: str, letter: str, dim: Dim) -> str:
    """Solve an extent for a letter."""
    count = dict(dim.terms)[letter]
    rest = Dim(tuple((other, -n) for other, n in dim.terms if other != letter), -dim.constant)
    text = extent(rest) if rest.terms or rest.constant else ""
    if text:
        value = f"{value} - {text[1:]}" if text.startswith("-") else f"{value} + {text}"
    if count == 1:
        return value
    if count == -1:
        return f"-({value})" if text else f"-{value}"
    return f"({value}) // {count}" if text else f"{value} // {count}"
