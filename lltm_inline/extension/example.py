"""What one example call tells of a function: the letters of its shapes, what it returns, what it changes.

The reference runs on the example, and with each extent one larger: what it takes is a letter, and how its results grow says how
their shapes are written. Extents that are equal in the example stay equal.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor

from ..base.arguments import plural, shown
from ..errors import DefinitionError, InputError
from ..model.shapes import Shape

#: In the order in which a reader meets them.
_LETTERS = "NMKLPQRSTUVWXYZABCDEFGHIJO"
#: How far extents are moved, each alone and all together, to see how results grow.
_STEPS, _TOGETHER = (1, 3), (2, 3, 5, 7, 11, 13)


@dataclass(frozen=True, eq=False)
class Like:
    """Draws a value like that of the example.

    Attributes:
        value: of the example.
        shape: of a tensor, in the letters of the op.
        below: of an index, the letters that it has to be below; of the places where rows begin, the letter that they end at.
    """

    value: Any
    shape: str = ""
    below: tuple[str, ...] = ()

    def __call__(self, randn: Callable[..., Tensor], sizes: Mapping[str, int]) -> Any:
        """Draw it at these sizes."""
        value = self.value
        if not isinstance(value, Tensor):
            return value
        drawn = randn(*Shape.parse(self.shape)(sizes))
        if value.is_complex():
            return drawn.to(value.dtype)
        # What has one sign keeps it, and what lies between 0 and 1 stays there.
        share = 0.5 * (1 + torch.erf(drawn / math.sqrt(2)))
        low, high = (value.min().item(), value.max().item()) if value.numel() else (0, 0)
        if value.is_floating_point():
            return drawn if low < 0 else share if high <= 1 else drawn.abs()
        ends = [sizes[letter] for letter in self.below]
        if _begins_rows(value):
            end = min(ends, default=int(high))
            inner = (share[1:-1].sort()[0] * end).round()
            return torch.cat([share[:1] * 0, inner, share[1:2] * 0 + end]).to(value.dtype)
        low, high = (0, min(ends)) if ends else (int(low), int(high) + 1)
        return (low + (share.double() * (high - low)).floor().clamp(max=max(high - low - 1, 0))).to(value.dtype)


def _begins_rows(value: Tensor) -> bool:
    """Tell whether these are the places where the rows of something begin, as CSR has them: sorted, from 0 on."""
    ordered = value.dim() == 1 and value.numel() > 2 and value.dtype in (torch.int64, torch.int32)
    return ordered and not value[0] and bool((value.diff() >= 0).all()) and bool(value[-1] > 0)


@dataclass(frozen=True, eq=False)
class Inputs:
    """The `inputs` of an op that is known by an example."""

    likes: tuple[Like, ...]

    def __call__(self, randn: Callable[..., Tensor], **sizes: int) -> tuple[Any, ...]:
        """Draw one set of inputs."""
        return tuple(like(randn, sizes) for like in self.likes)


@dataclass(frozen=True, eq=False)
class Call:
    """One call of the reference: what it returned, and which arguments it changed."""

    results: tuple[Any, ...]
    changed: tuple[int, ...]
    returned: tuple[int | None, ...]
    kind: str


def call(function: Callable[..., Any], values: Sequence[Any]) -> Call:
    """Call a function on copies of values, and see what it does to them."""
    copies = [value.detach().clone() if isinstance(value, Tensor) else value for value in values]
    with torch.no_grad():
        results = function(*copies)
    changed = tuple(
        index for index, (value, copy) in enumerate(zip(values, copies, strict=True)) if not _same(value, copy)
    )
    kind = "nothing" if results is None else "tuple" if isinstance(results, tuple | list) else "one"
    found = () if results is None else tuple(results) if isinstance(results, tuple | list) else (results,)
    places = {id(copy): index for index, copy in enumerate(copies) if isinstance(copy, Tensor)}
    return Call(found, changed, tuple(places.get(id(result)) for result in found), kind)


def _same(value: Any, copy: Any) -> bool:
    return not isinstance(value, Tensor) or torch.equal(value.nan_to_num(), copy.nan_to_num())


@dataclass(frozen=True, eq=False)
class Example:
    """An example call, explored.

    Attributes:
        names: of the arguments.
        values: of the arguments.
        free: for each extent of a tensor that may be another its letter, or as many letters as it is: `2M`.
        first: the call of the reference with the example; None without one.
        maker: makes inputs, where the user said how.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    free: Mapping[int, str]
    reference: Callable[..., Any] | None
    first: Call | None
    maker: Callable[..., Any] | None = None

    @cached_property
    def inputs(self) -> Callable[..., Any]:
        """Draws inputs like those of the example."""
        return self.maker or Inputs(tuple(map(self._like, self.values)))

    def _like(self, value: Any) -> Like:
        if not isinstance(value, Tensor):
            return Like(value)
        below: list[str] = []
        if value.dtype in (torch.int64, torch.int32) and value.numel() and value.min() >= 0:
            # One of the extents that no index reaches is meant; below all of them is right whichever that is.
            top, ends = int(value.max()), _begins_rows(value)
            numbers = [v for v in self.values if isinstance(v, int)]
            fixed = [e for tensor in tensors_in(self.values) for e in tensor.shape if e not in self.free] + numbers
            if ends or not any(extent > top for extent in fixed):
                below = [letter for letter, e in self.sizes.items() if (e == top if ends else e > top)]
        return Like(value, self.shape(value), tuple(below))

    def shape(self, value: Tensor) -> str:
        """Write the shape of a tensor in letters."""
        return " ".join(str(self.free.get(extent, extent)) for extent in value.shape)

    @property
    def sizes(self) -> dict[str, int]:
        """The extents of the example by letter."""
        return {word: extent for extent, word in self.free.items() if word.isalpha()}

    def at(self, sizes: Mapping[str, int], seed: int = 0) -> tuple[Any, ...]:
        """Draw inputs in the example's dtypes at other sizes."""
        generator = torch.Generator().manual_seed(seed)
        dtype = next(
            (v.dtype for v in tensors_in(self.values) if v.is_floating_point() or v.is_complex()), torch.float32
        )
        return self.inputs(
            lambda *shape: torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype), **sizes
        )

    def run(self, sizes: Mapping[str, int], values: Mapping[str, int] | None = None, seed: int = 0) -> Call | None:
        """Run the reference at other sizes, and with other whole numbers; None where it refuses them."""
        assert self.reference is not None
        inputs = [(values or {}).get(name, value) for name, value in zip(self.names, self.at(sizes, seed), strict=True)]
        try:
            with torch.random.fork_rng(devices=[]):
                return call(self.reference, inputs)
        except Exception:  # whatever a reference raises for a size that it refuses
            return None

    def shape_of(self, which: int) -> str:
        """Write the shape of a result in letters and arguments; `?` where it follows from the values."""
        assert self.first is not None
        result = self.first.results[which]
        drawn = [self.run(self.sizes, seed=seed) for seed in (1, 2)]
        if any(one is None or one.results[which].shape != result.shape for one in drawn):
            return "?"
        words = [self._extent(which, axis) for axis in range(result.dim())]
        return "?" if None in words else " ".join(map(str, words))

    @cached_property
    def _probes(self) -> list[tuple[dict[str, int], dict[str, int], Call]]:
        """The reference at other sizes and with other whole numbers: each alone, and all together."""
        numbers = self._numbers
        moves: list[tuple[dict[str, int], dict[str, int]]] = [({}, {})]
        moves += [({letter: step}, {}) for letter in self.sizes for step in _STEPS]
        moves += [({}, {name: step}) for name in numbers for step in (1, 2)]
        moves += [(dict(zip(self.sizes, steps, strict=False)), {}) for steps in (_TOGETHER, _TOGETHER[::-1])]
        moves += [(dict(zip(self.sizes, _TOGETHER, strict=False)), dict.fromkeys(numbers, 1))]
        probes = []
        for extents, values in moves:
            sizes = {letter: size + extents.get(letter, 0) for letter, size in self.sizes.items()}
            given = {name: value + values.get(name, 0) for name, value in numbers.items()}
            found = self.run(sizes, given)
            if found is not None:
                probes.append((sizes, given, found))
        return probes

    def _extent(self, which: int, axis: int) -> str | None:
        """Write one extent of a result as the first formula that holds in every probe."""
        probes = [
            (sizes | numbers, call_.results[which].shape[axis])
            for sizes, numbers, call_ in self._probes
            if call_.results[which].dim() > axis
        ]
        linear = self._linear(probes)
        if linear is not None:
            return linear
        moved = [name for name in self._numbers if len({known[name] for known, _ in probes}) > 1]
        for text, formula in _formulas(self.sizes, moved):
            if all(_value(formula, known) == extent for known, extent in probes):
                return text
        return None

    @property
    def _numbers(self) -> dict[str, int]:
        pairs = zip(self.names, self.values, strict=True)
        return {name: value for name, value in pairs if isinstance(value, int) and not isinstance(value, bool)}

    def _linear(self, probes: Sequence[tuple[dict[str, int], int]]) -> str | None:
        """Write an extent as a sum of letters and a constant."""
        base, extent = probes[0]
        counts = {}
        for letter, size in self.sizes.items():
            one = {**base, letter: size + 1}
            moved = next((value for known, value in probes if known == one), None)
            if moved is None:
                return None
            counts[letter] = moved - extent
        constant = extent - sum(count * base[letter] for letter, count in counts.items())
        if any(extent != constant + sum(n * known[letter] for letter, n in counts.items()) for known, extent in probes):
            return None
        words = [f"{'-' if n < 0 else '+'}{abs(n) if abs(n) != 1 else ''}{letter}" for letter, n in counts.items() if n]
        words += [f"{constant:+d}"] if constant or not words else []
        words.sort(key=lambda word: word[0] == "-")
        return "".join(words).removeprefix("+")


def tensors_in(values: Sequence[Any]) -> list[Tensor]:
    """List the tensors among values."""
    return [value for value in values if isinstance(value, Tensor)]


def _formulas(letters: Mapping[str, int], numbers: Sequence[str]) -> Iterator[tuple[str, Callable[..., int]]]:
    """List the extents that results have beside sums of letters, the simplest first; each takes what is known by name."""
    for number in numbers:
        yield number, lambda k, n=number: k[n]
    for letter, number in product(letters, numbers):
        yield f"{letter}*{number}", lambda k, a=letter, n=number: k[a] * k[n]
        yield f"{letter}/{number}", lambda k, a=letter, n=number: k[a] // k[n]
        yield f"{letter}+{number}", lambda k, a=letter, n=number: k[a] + k[n]
        yield f"{letter}-{number}+1", lambda k, a=letter, n=number: k[a] - k[n] + 1
        yield f"{letter}+2*{number}", lambda k, a=letter, n=number: k[a] + 2 * k[n]
    for letter in letters:
        for divisor in (2, 3, 4, 8):
            yield f"{letter}/{divisor}", lambda k, a=letter, d=divisor: k[a] // d
    for letter, size, stride in product(letters, numbers, numbers):
        if size != stride:
            yield f"({letter}-{size})/{stride}+1", lambda k, a=letter, n=size, s=stride: (k[a] - k[n]) // k[s] + 1


def _value(formula: Callable[..., int], known: Mapping[str, int]) -> int | None:
    try:
        return formula(known)
    except ZeroDivisionError:
        return None


def sizes_of(maker: Callable[..., Any], where: str) -> dict[str, int]:
    """Choose an extent for each letter that a function for inputs takes.

    Raises:
        InputError: it takes something else than `randn` and letters.
    """
    names = [*inspect.signature(maker).parameters]
    if len(names) < 2 or not all(re.fullmatch(r"[A-Z]", name) for name in names[1:]):
        raise InputError(
            f"{where}: inputs takes ({', '.join(names)}), want (randn, N, M, ...) with a capital letter for each extent"
        )
    return dict(zip(names[1:], (29, 31, 37, 41, 43, 47, 53, 59, 61, 67), strict=False))


def explore(
    where: str,
    names: Sequence[str],
    values: Sequence[Any],
    asked: Callable[[str, int, int], bool],
    reference: Callable[..., Any] | None,
    maker: Callable[..., Any] | None = None,
) -> Example:
    """Find out which extents of an example may be others.

    Args:
        where: for messages.
        names: of the arguments.
        values: of the arguments.
        asked: whether a text asks for the extent of an argument along an axis, of so many; what it never asks for is fixed.
        reference: of the op, or None.
        maker: has made the example, with the extents of `sizes_of`, where the user said how.

    Raises:
        DefinitionError: the reference does not take the example.
        InputError: an example that is none.
    """
    extents: dict[int, None] = {}
    for name, value in zip(names, values, strict=True):
        for tensor in tensors_in([value]):
            if tensor.layout != torch.strided:
                raise InputError(f"{where}: inputs: {name} has layout {tensor.layout}, want a dense tensor")
            extents |= {
                extent: None
                for axis, extent in enumerate(tensor.shape)
                if asked(name, axis, tensor.dim()) and extent > 1
            }
    if len(extents) > len(_LETTERS):
        raise InputError(
            f"{where}: inputs have {plural(len(extents), 'different extent')}, want {len(_LETTERS)} at most"
        )
    first = None
    if reference is not None:
        try:
            with torch.random.fork_rng(devices=[]):
                first = call(reference, values)
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise DefinitionError(
                f"{where}: the reference fails on the example inputs ({', '.join(map(_words, values))}): {said}. "
                f"It is called as the function is: ({', '.join(names)})"
            ) from error
    letters = dict(zip(extents, _LETTERS, strict=False))
    if maker is not None:
        letters = {extent: letter for letter, extent in sizes_of(maker, where).items()}
    example = Example(tuple(names), tuple(values), letters, reference, first, maker)
    if reference is None or maker is not None:
        return example
    taken = [extent for extent in extents if _moves(example, extent)]
    free = dict(zip(taken, _LETTERS, strict=False))
    # What the reference refuses to have changed is fixed, unless another extent is so many times as large.
    for low, high in permutations([extent for extent in extents if extent not in taken], 2):
        letter, times = _LETTERS[len(free)], high // low
        if high == times * low and low not in free and high not in free:
            both = replace(example, free=free | {low: letter, high: f"{times}{letter}"})
            if _moves(both, low):
                free = dict(both.free)
    return replace(example, free=free)


def _moves(example: Example, extent: int) -> bool:
    """Tell whether the reference takes the example with another extent in the place of this one."""
    return all(example.run({**example.sizes, example.free[extent]: extent + step}) for step in _STEPS)


def _words(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return shown(value, 30)
