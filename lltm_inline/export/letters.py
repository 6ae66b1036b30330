"""Writes how the letters of a size follow from the shapes of tensors, as lines of Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..model.shapes import ELEMENTS, Dim, Shape, solve


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
    return f"({', '.join(str(dim).replace(' * ', '').replace(' ', '') for dim in shape.dims)})"


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
        return ", ".join(map(str, shape.dims)) or "()"


def letters_from(tensors: Sequence[tuple[str, Shape]], needed: Iterable[Shape]) -> Letters:
    """Write how the letters of the shapes `needed` follow from tensors, by the steps in which the playground's fake kernels go.

    Args:
        tensors: names in the function, each with its shape.
        needed: the shapes that are to be written down.

    Example:
        >>> letters_from([("x", Shape.parse("B 3S"))], [Shape.parse("B S")]).lines
        ['B = x.shape[0]', 'S = x.shape[1] // 3']
    """
    elements = next((name for name, shape in tensors if shape.any_rank), "")
    found = Letters(any_shape=f"{elements}.shape" if elements else "")
    solved = solve([shape for _, shape in tensors])
    sources = {letter: (tensors[which][0], axis, dim) for letter, (which, axis, dim) in solved.items()}
    letters = {letter for shape in needed if not shape.any_rank for letter in shape.letters}
    for letter, (_, _, dim) in reversed(sources.items()):  # with those from which they follow, which stand ahead
        letters |= {other for other, _ in dim.terms} if letter in letters else set()
    _write(found, sources, letters, dict(tensors), elements)
    return found


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
    text = str(rest) if rest.terms or rest.constant else ""
    if text:
        value = f"{value} - {text[1:]}" if text.startswith("-") else f"{value} + {text}"
    if count == 1:
        return value
    if count == -1:
        return f"-({value})" if text else f"-{value}"
    return f"({value}) // {count}" if text else f"{value} // {count}"
