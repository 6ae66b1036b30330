"""What one example call tells of a function: the letters of its shapes, what it returns, what it changes.

The reference runs on the example, and with each extent one larger: what it takes is a letter, and how its results grow says how
their shapes are written. Extents that are equal in the example stay equal where the reference wants it, or the function asks for
one of them only. Where nobody gave a reference, the function of the snippet itself is run in the worker (`Trial`).
"""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, count, cycle, permutations, product
from typing import Any

import torch
from torch import Tensor

from ..base.arguments import plural, raised, shown
from ..base.device import DEVICES
from ..calling import call as call_in_worker
from ..errors import (
    BuildError,
    CrashError,
    DefinitionError,
    InputError,
    LltmInlineError,
    SignatureError,
    ToolchainError,
)
from ..model.kernel import Kernel
from ..model.registry import Argument, Op, registry
from ..model.shapes import Formula, Shape
from ..run.cases.drawing import is_label
from ..run.function import as_tuple, copied, each, same, tensors
from ..source.template import usual_device

#: In the order in which a reader meets them.
_LETTERS = "NMKLPQRSTUVWXYZABCDEFGHIJO"
#: How far extents are moved, each alone and all together, to see how results grow.
_STEPS, _TOGETHER = (1, 3), (2, 3, 5, 7, 11, 13)
#: Extents below this are no sizes of a problem, but of a filter, say.
_SMALL = 16
#: So many numbers are in order by chance once in 720 times.
_ORDERED = 6
#: What is called so is in order, even where the example counts: `torch.linspace(0, 1, 11)`.
_IN_ORDER = re.compile(r"sorted|edges|bounds|boundaries|bins|breaks|knots|thresholds|offsets|ptr|seqlens|xp\Z")
#: An axis of an argument, by the name of that; an end may be None for each of its axes.
_Axis = tuple[str, int]
End = tuple[str, int | None]


@dataclass(frozen=True)
class Said:
    """What is said of extents where an example comes from.

    Attributes:
        told: the letter of an axis of an argument; an axis may count from the end, and of None the number of elements is meant.
        taken: letters that mean something else there.
        asked: whether a text asks for the extent of an argument along an axis, of so many; what it never asks for is fixed.
        apart: the same of a text and what it hands its arguments to, for what is equal by chance.
        ties: what the function wants to be of one size.
    """

    told: Mapping[End, str]
    taken: frozenset[str]
    asked: Callable[[str, int, int], bool]
    apart: Callable[[str, int, int], bool]
    ties: Sequence[tuple[End, End]]

    def letters(self, given: Mapping[str, Any], extents: Collection[int]) -> dict[int, str]:
        """Give each extent its letter: the one that it has where it comes from, else one that means nothing else there."""
        found: dict[int, str] = {}
        for (name, axis), letter in self.told.items():
            shape = value.shape if isinstance(value := given.get(name), Tensor) else ()
            place = 0 if axis is None and len(shape) == 1 else axis
            if place is None or not -len(shape) <= place < len(shape) or letter in found.values():
                continue
            if shape[place] in extents:
                found.setdefault(shape[place], letter)
        known = {*self.told.values(), *self.taken}
        free = iter(sorted((one for one in _LETTERS if one not in found.values()), key=known.__contains__))
        return {extent: found.get(extent) or next(free) for extent in extents}


@dataclass(frozen=True, eq=False)
class Like:
    """Says how a value like that of the example is drawn.

    Attributes:
        value: of the example.
        shape: of a tensor, in the letters of the op; of a number that is an extent, or a product of some, these.
        below: of an index, the letters that it has to be below; of the places where rows begin, the letter that they end at.
        dtype: of a tensor that has not that of the others.
        name: of the argument.
    """

    value: Any
    shape: str = ""
    below: tuple[str, ...] = ()
    dtype: torch.dtype | None = None
    name: str = ""

    @property
    def text(self) -> str:
        """The expression that draws it, of letters, `randn` and `DRAWN_BY`: an export holds it as it is."""
        value = self.value
        extents = [str(dim) for dim in Shape.parse(self.shape).dims]
        if isinstance(value, int) and self.shape:
            return " * ".join(f"({extent})" if len(extents) > 1 and " " in extent else extent for extent in extents)
        if isinstance(value, list | tuple) and tensors(value):
            shapes = [self.shape if of_one_shape(value) else " ".join(map(str, one.shape)) for one in value]
            texts = (replace(self, value=one, shape=shape).text for one, shape in zip(value, shapes, strict=True))
            return f"[{', '.join(texts)}]"
        if not isinstance(value, Tensor):
            return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)
        drawn = f"randn({', '.join(extents)})"
        if value.is_complex():
            return f"({drawn} + 1j * {drawn}).to({value.dtype})"
        # What has one sign keeps it, what lies between 0 and 1 stays there, and what says yes or no goes on to.
        low, high = (value.min().item(), value.max().item()) if value.numel() else (0, 0)
        if value.is_floating_point():
            kept = drawn if low < 0 else f"share({drawn})" if high <= 1 else f"{drawn}.abs()"
            kept = f"share({drawn}).round()" if is_label(value) else kept
            kept = f"{kept}.sort().values" if _is_sorted(value, self.name) else kept
            return f"{kept}.to({self.dtype})" if self.dtype else kept
        end = f"min({', '.join(self.below)})" if len(self.below) > 1 else "".join(self.below)
        marks = _marks(value)
        if marks.any():
            real, part, mark = int(value[~marks].max()) + 1, round(marks.double().mean().item(), 3), int(low)
            index = f"whole(share({drawn}), 0, {end or real})"
            return f"marked({index}, share({drawn}), {part}, {mark}).to({value.dtype})"
        if _begins_rows(value):
            return f"row_starts(share({drawn}), {end or int(high)}).to({value.dtype})"
        sort = ".sort().values" if value.dtype != torch.bool and _is_sorted(value, self.name) else ""
        return f"whole(share({drawn}), {0 if end else int(low)}, {end or int(high) + 1}){sort}.to({value.dtype})"


def share(drawn: Tensor) -> Tensor:
    """Make of normal numbers such as lie between 0 and 1, everywhere as many, and neither 0 nor 1: a logarithm of those is infinite."""
    least = torch.finfo(drawn.dtype).eps
    return (0.5 * (1 + torch.erf(drawn / math.sqrt(2)))).clamp(least, 1 - least)


def whole(even: Tensor, low: int, high: int) -> Tensor:
    """Make of numbers between 0 and 1 whole ones from `low` to below `high`."""
    return low + (even.double() * (high - low)).floor().clamp(max=max(high - low - 1, 0))


def marked(value: Tensor, even: Tensor, part: float, mark: int) -> Tensor:
    """Put a mark, as -100 is of labels that do not count, in the place of a part of whole numbers; the first one stays."""
    places = even < part
    places.view(-1)[:1] = False
    return torch.where(places, mark, value)


def _marks(value: Tensor) -> Tensor:
    """Tell where indices are none but a mark: the only negative number among them."""
    negative = value < 0 if value.dtype in (torch.int64, torch.int32) else torch.zeros_like(value, dtype=torch.bool)
    is_mark = len(value[negative].unique()) == 1 and not negative.all()
    return negative if is_mark else torch.zeros_like(negative)


def row_starts(even: Tensor, end: int) -> Tensor:
    """Make of numbers between 0 and 1 the places where rows begin, as CSR has them: sorted, from 0 to `end`."""
    return torch.cat([even[:1] * 0, (even[1:-1].sort()[0] * end).round(), even[1:2] * 0 + end])


#: The functions that the text of inputs names.
DRAWN_BY = {function.__name__: function for function in (share, whole, marked, row_starts)}


def _begins_rows(value: Tensor) -> bool:
    """Tell whether these are the places where the rows of something begin, as CSR has them: sorted, from 0 on."""
    ordered = value.dim() == 1 and value.numel() > 2 and value.dtype in (torch.int64, torch.int32)
    return ordered and not value[0] and bool((value.diff() >= 0).all()) and bool(value[-1] > 0)


def _is_sorted(value: Tensor, name: str) -> bool:
    """Tell whether numbers are in order on purpose: too many for chance, and no mere count, unless the name says what they are."""
    if not value.dim() or value.shape[-1] < _ORDERED or value.is_complex():
        return False
    steps = value.double().diff()
    counts = bool((steps - steps.flatten()[0]).abs().max() <= 1e-4 * steps.abs().max())
    return bool((steps >= 0).all() and steps.any()) and (not counts or _IN_ORDER.search(name) is not None)


@dataclass(frozen=True, eq=False)
class Inputs:
    """The `inputs` of an op that is known by an example."""

    likes: tuple[Like, ...]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The expressions that draw them."""
        return tuple(like.text for like in self.likes)

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The functions that these name."""
        return {name: function for name, function in DRAWN_BY.items() if f"{name}(" in str(self.texts)}

    def example(self, dtype: torch.dtype) -> tuple[Any, ...]:
        """Return the inputs of the example, in another dtype of real numbers."""

        def one(value: Tensor, like: Like) -> Tensor:
            kept = like.dtype is not None or not value.is_floating_point()
            return value.clone() if kept else value.to(dtype, copy=True)

        return tuple(each(like.value, partial(one, like=like)) for like in self.likes)

    def __call__(self, randn: Callable[..., Tensor], **sizes: int) -> tuple[Any, ...]:
        """Draw one set of inputs."""
        names = {"torch": torch, "randn": randn, **DRAWN_BY, **sizes}
        return tuple(eval(text, names) for text in self.texts)


@dataclass(frozen=True, eq=False)
class Call:
    """One call of the reference: what it returned, and which arguments it changed."""

    results: tuple[Any, ...]
    changed: tuple[int, ...]
    returned: tuple[int | None, ...]

    def less(self, places: Collection[int]) -> Call:
        """Return the call as if it had not returned what stands at some places."""
        left = [place for place in range(len(self.results)) if place not in places]
        results, returned = (tuple(values[place] for place in left) for values in (self.results, self.returned))
        return replace(self, results=results, returned=returned)


def call(function: Callable[..., Any], values: Sequence[Any]) -> Call:
    """Call a function on copies of values, and see what it does to them."""
    copies = copied([*values])
    with torch.no_grad():
        results = function(*copies)
    changed = (index for index, pair in enumerate(zip(values, copies, strict=True)) if not same(*pair))
    found = () if results is None else as_tuple(results)
    places = {id(copy): index for index, copy in enumerate(copies) if isinstance(copy, Tensor)}
    return Call(found, tuple(changed), tuple(places.get(id(result)) for result in found))


def _tried(function: Callable[..., Any], values: Sequence[Any]) -> Call | None:
    """Call a function to see whether it takes values that nobody has said it takes; None where it refuses them."""
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(function, values)
    except Exception:  # whatever a reference raises
        return None


@dataclass(frozen=True, eq=False)
class Example:
    """An example call, explored.

    Attributes:
        given: the arguments by name.
        free: for each extent of a tensor that may be another its letter, or as many letters as it is: `2M`.
        first: the call of the reference with the example; None without one.
        maker: makes inputs, where the user said how.
        bound: numbers that are an extent of the example, or a product of some, by name.
        chance: for extents that the user's own example has not, what it has in their place.
        made: by the maker at several sizes, those of the example first.
    """

    given: Mapping[str, Any]
    free: Mapping[int, str]
    reference: Callable[..., Any] | None
    first: Call | None
    maker: Callable[..., Any] | None = None
    bound: Mapping[str, Sequence[int]] = field(default_factory=dict)
    chance: Mapping[int, int] = field(default_factory=dict)
    made: Sequence[tuple[dict[str, int], Sequence[Any]]] = ()

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(self.given.values())

    @cached_property
    def inputs(self) -> Callable[..., Any]:
        """Draws inputs like those of the example."""
        return self.maker or Inputs(tuple(map(self._like, self.given, self.values)))

    @property
    def is_plain(self) -> bool:
        """Whether the inputs are drawn as those of any op are: real numbers of both signs in tensors that stand alone."""
        plain = [v for v in self.values if isinstance(v, Tensor) and v.dtype == self.dtype and v.is_floating_point()]
        if self.maker is not None or len(plain) < len(self.values):
            return False
        pairs = zip(self.given, plain, strict=True)
        return all(v.numel() and v.min() < 0 and not _is_sorted(v, name) for name, v in pairs)

    def _like(self, name: str, value: Any) -> Like:
        if name in self.bound:
            return Like(value, self._written(self.bound[name]))
        if not isinstance(value, Tensor):
            return Like(value, "".join(self._written(one.shape) for one in tensors(value)[:1]))
        below: list[str] = []
        is_index = value.dtype in (torch.int64, torch.int32) and value.numel()
        if is_index and (value.min() >= 0 or _marks(value).any()):
            # One of the extents that no index reaches is meant; below all of them is right whichever that is.
            top, ends = int(value.max()), _begins_rows(value)
            numbers = [v for v in self.values if isinstance(v, int)]
            fixed = [e for tensor in tensors(self.values) for e in tensor.shape if e not in self.free] + numbers
            if ends or not any(extent > top for extent in fixed):
                below = [letter for letter, e in self.sizes.items() if (e == top if ends else e > top)]
        return Like(
            value, self._written(value.shape), tuple(below), value.dtype if value.dtype != self.dtype else None, name
        )

    def shape_of_input(self, place: int) -> str:
        """Write the shape of an argument that is a tensor, or a list of such.

        Raises:
            DefinitionError: the user's function gives it extents that are no sums of letters.
        """
        if self.maker is None:
            return self._written(tensors(self.values[place])[0].shape)
        shapes = [(sizes, tensors(values[place])[0].shape) for sizes, values in self.made]
        axes = range(min(len(shape) for _, shape in shapes))
        words = [self._linear([(sizes, shape[axis]) for sizes, shape in shapes]) for axis in axes]
        if None in words or len({len(shape) for _, shape in shapes}) > 1:
            raise DefinitionError(
                f"inputs() gives {[*self.given][place]} the shapes "
                f"{' and '.join(f'{tuple(shape)} at {_at(sizes)}' for sizes, shape in (shapes[0], shapes[-1]))}, want extents that are "
                "sums of letters and numbers, such as B, 2*D or T+4. Give what is none a letter of its own"
            )
        return " ".join(map(str, words))

    def _written(self, extents: Sequence[int]) -> str:
        """Write extents in letters."""
        return " ".join(str(self.free.get(extent, extent)) for extent in extents)

    def small(self, most: int) -> tuple[int, ...]:
        """Scale the example down to so many elements, by one factor, so that different extents stay different; () if it cannot be."""
        if self.maker is not None:  # its sizes are prime
            return tuple(self.sizes.values()) * (sum(tensor.numel() for tensor in tensors(self.values)) <= most)
        for factor in (1, 2, 4, 8, 16, 32, 64, 128):
            sizes = {letter: extent if extent < _SMALL else extent // factor for letter, extent in self.sizes.items()}
            if any(extent >= _SMALL and extent % factor for extent in self.sizes.values()):
                break
            shapes = [Shape.parse(self._written(tensor.shape))(sizes) for tensor in tensors(self.values)]
            if sum(map(math.prod, shapes)) <= most:
                return tuple(sizes.values())
        return ()

    @property
    def sizes(self) -> dict[str, int]:
        """The extents of the example by letter."""
        return {word: extent for extent, word in self.free.items() if word.isalpha()}

    def at(self, sizes: Mapping[str, int], seed: int = 0) -> tuple[Any, ...]:
        """Draw inputs in the example's dtypes at other sizes."""
        generator = torch.Generator().manual_seed(seed)
        return self.inputs(
            lambda *shape: torch.randn(shape, dtype=torch.float64, generator=generator).to(self.dtype), **sizes
        )

    @cached_property
    def dtype(self) -> torch.dtype:
        """What the tensors of real and complex numbers have in common."""
        return common_dtype(self.values) or torch.float32

    def run(self, known: Mapping[str, int], seed: int = 0) -> Call | None:
        """Run the reference at other sizes, and with other whole numbers; None where it refuses them."""
        assert self.reference is not None
        made = self.at({letter: known[letter] for letter in self.sizes}, seed)
        numbers = {name: known.get(name, number) for name, number in self._numbers.items()}
        return _tried(self.reference, [*(dict(zip(self.given, made, strict=True)) | numbers).values()])

    def takes(self, dtype: torch.dtype) -> bool:
        """Tell whether the reference computes in another dtype, too: what makes a tensor by `torch.zeros(n)` knows one only."""
        if self.reference is None or self.first is None:
            return True
        values = [each(value, lambda one: one.to(dtype) if one.dtype == self.dtype else one) for value in self.values]
        found = _tried(self.reference, values)
        pairs = zip(tensors(self.first.results), tensors(found.results if found else ()), strict=False)
        return found is not None and all(other.dtype == dtype for one, other in pairs if one.dtype == self.dtype)

    def shape_of(self, which: int) -> str:
        """Write the shape of a result in letters and arguments; `?` where it follows from the values."""
        assert self.first is not None
        result = self.first.results[which]
        drawn = [self.run(self.sizes, seed=seed) for seed in range(1, 5)]
        if any(one is None or one.results[which].shape != result.shape for one in drawn):
            return "?"
        words = [self._extent(which, axis) for axis in range(result.dim())]
        return "?" if None in words else " ".join(map(str, words))

    @cached_property
    def _probes(self) -> list[tuple[dict[str, int], Call]]:
        """The reference at other sizes and with other whole numbers: each alone, and all together."""
        numbers, known = self._numbers, self.sizes | self._numbers
        moves = [{}, *({letter: step} for letter in self.sizes for step in _STEPS)]
        moves += [{name: step} for name in numbers for step in (1, 2)]
        together, other = (dict(zip(self.sizes, steps, strict=False)) for steps in (_TOGETHER, _TOGETHER[::-1]))
        moves += [together, other, together | dict.fromkeys(numbers, 1)]
        probes = [{name: value + steps.get(name, 0) for name, value in known.items()} for steps in moves]
        return [(probe, found) for probe in probes if (found := self.run(probe)) is not None]

    def _extent(self, which: int, axis: int) -> str | None:
        """Write one extent of a result as the first formula that holds in every probe."""
        shapes = [(known, one.results[which].shape) for known, one in self._probes]
        probes = [(known, shape[axis]) for known, shape in shapes if len(shape) > axis]
        if (linear := self._linear(probes)) is not None:
            return linear
        moved = [name for name in self._numbers if len({known[name] for known, _ in probes}) > 1]
        for text in _formulas([*self.sizes], moved):
            formula = Formula.parse(text)
            with suppress(ZeroDivisionError):
                if all(formula(known) == extent for known, extent in probes):
                    return text
        return None

    @property
    def _numbers(self) -> dict[str, int]:
        return {name: one for name, one in self.given.items() if _is_number(one) and name not in self.bound}

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


def _at(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{letter}={size}" for letter, size in sizes.items())


def of_one_shape(value: Any) -> bool:
    """Tell whether this is a tensor, or a list of such that have one shape."""
    return len({one.shape for one in tensors(value)}) == 1


def common_dtype(values: Sequence[Any]) -> torch.dtype | None:
    """Return the dtype of those tensors of which an op does not say it: of real and complex numbers, else of a list."""
    real = [one.dtype for one in tensors(values) if one.is_floating_point() or one.is_complex()]
    listed = [one.dtype for one in tensors([value for value in values if isinstance(value, list)])]
    return next(iter((*real, *listed)), None)


#: The extents that results have beside sums of letters, the simplest first: of a letter, a number, and windows that move over an axis.
_FORMULAS = (
    *("n", "A*n", "A/n", "A+n", "A-n+1", "A+2*n", "(A+n-1)/n"),
    *(text for d in (2, 3, 4, 8, 16, 32, 64) for text in (f"A/{d}", f"(A+{d - 1})/{d}")),
    *("(A-K)/s+1", "A-K+2*p+1", "(A-K+2*p)/s+1"),
)


def _formulas(letters: Sequence[str], numbers: Sequence[str]) -> Iterator[str]:
    """List these with every letter and number in its place; `K` is either, and none stands for two."""
    for form in _FORMULAS:
        places = list(dict.fromkeys(re.findall(r"[A-Za-z]", form)))
        kinds = {"A": letters, "K": (*numbers, *letters)}
        for given in product(*(kinds.get(place, numbers) for place in places)):
            if len({*given}) == len(given):
                yield form.translate(dict(zip(map(ord, places), given, strict=True)))


def sizes_of(maker: Callable[..., Any]) -> dict[str, int]:
    """Choose an extent for each letter that a function for inputs takes.

    Raises:
        InputError: it takes something else than `randn` and letters.
    """
    names = [*inspect.signature(maker).parameters]
    if len(names) < 2 or not all(re.fullmatch(r"[A-Z]", name) for name in names[1:]):
        raise InputError(
            f"inputs takes ({', '.join(names)}), want (randn, N, M, ...) with a capital letter for each extent"
        )
    return dict(zip(names[1:], (29, 31, 37, 41, 43, 47, 53, 59, 61, 67), strict=False))


def drawn(maker: Callable[..., Any], sizes: Mapping[str, int]) -> Any:
    """Make example inputs by the user's function, at these sizes.

    Raises:
        DefinitionError: it fails.
    """
    generator = torch.Generator().manual_seed(0)
    try:
        return maker(lambda *shape: torch.randn(shape, generator=generator), **sizes)
    except Exception as error:
        raise DefinitionError(f"inputs(randn, {_at(sizes)}) failed: {raised(error)}") from error


def explore(
    given: Mapping[str, Any], said: Said, reference: Callable[..., Any] | None, maker: Callable[..., Any] | None
) -> Example:
    """Find out which extents of an example may be others.

    Args:
        given: the arguments by name.
        said: of the extents.
        reference: of the op, or None.
        maker: has made the example, with the extents of `sizes_of`, where the user said how.

    Raises:
        DefinitionError: the reference does not take the example.
        InputError: an example of more extents than there are letters.
    """
    chance: dict[int, int] = {}
    if reference is not None and maker is None:
        given, chance = _told_apart(given, said, reference)
    extents, bound = _extents_of(given, said, maker is not None)
    first = None if reference is None else _first_call(reference, given)
    letters = said.letters(given, extents)
    made: list[tuple[dict[str, int], Sequence[Any]]] = []
    if maker is not None:
        sizes = sizes_of(maker)
        letters = {extent: letter for letter, extent in sizes.items()}
        made.append((sizes, [*given.values()]))
        for steps in (*({letter: 1} for letter in sizes), dict(zip(sizes, cycle(_TOGETHER), strict=False))):
            other = {letter: size + steps.get(letter, 0) for letter, size in sizes.items()}
            inputs = drawn(maker, other)
            made.append((other, [inputs] if isinstance(inputs, Tensor) else inputs))
        # A number that is another at other sizes is made, and nobody chooses it.
        moves = zip(given, zip(*(inputs for _, inputs in made), strict=False), strict=False)
        bound = {name: () for name, those in moves if _is_number(those[0]) and len({*those}) > 1}
    example = Example(given, letters, reference, first, maker, bound, chance, made)
    if reference is None or maker is not None:
        return example
    taken = [extent for extent in extents if _moves(example, extent)]
    return replace(example, free=_with_multiples(example, said, taken, extents))


def _extents_of(given: Mapping[str, Any], said: Said, is_made: bool) -> tuple[list[int], dict[str, Sequence[int]]]:
    """List the extents of an example that the text asks for, or is told by a number; and which number tells which.

    Raises:
        InputError: more than there are letters.
    """
    extents: dict[int, None] = {}
    bound: dict[str, Sequence[int]] = {}
    main = common_dtype([*given.values()])
    single = any(isinstance(value, Tensor) and value.dtype == main for value in given.values())
    for name, value in given.items():
        if of_one_shape(value) and not single:  # else the extents of a list follow from those of others
            value = tensors(value)[0]
        if isinstance(value, Tensor):
            known = {extent for axis, extent in enumerate(value.shape) if said.asked(name, axis, value.dim())}
            for number, one in given.items():
                # Who asks for no extent is told it, or the number of elements.
                if _is_number(one) and one > 1 and not is_made:
                    if one in value.shape and one not in known | {*extents}:
                        bound[number] = (one,)
                    elif one == value.numel() and not known:
                        bound[number] = tuple(value.shape)
            told = {extent for those in bound.values() for extent in those}
            extents |= {extent: None for extent in value.shape if extent > 1 and extent in known | told}
    if len(extents) > len(_LETTERS):
        raise InputError(f"inputs have {plural(len(extents), 'different extent')}, want {len(_LETTERS)} at most")
    return list(extents), bound


def _first_call(reference: Callable[..., Any], given: Mapping[str, Any]) -> Call:
    """Call the reference with the example; torch's random numbers stay where they are."""
    values = [*given.values()]
    try:
        with torch.random.fork_rng(devices=[]):
            return call(reference, values)
    except Exception as error:
        raise DefinitionError(
            f"the reference fails on the example inputs ({', '.join(map(words, values))}): {raised(error)}. "
            f"It is called as the function is: ({', '.join(given)})"
        ) from error


def _with_multiples(example: Example, said: Said, taken: Sequence[int], extents: Sequence[int]) -> Mapping[int, str]:
    """Give letters to the extents that the reference accepts at other sizes, alone or together with a multiple of theirs."""
    free = said.letters(example.given, taken)
    # An extent that the reference does not accept at another size is fixed, unless it does so together with a multiple of it.
    for low, high in permutations([extent for extent in extents if extent not in taken], 2):
        letter, times = said.letters(example.given, [*free, low])[low], high // low
        if high == times * low and low not in free and high not in free:
            both = replace(example, free=free | {low: letter, high: f"{times}{letter}"})
            if _moves(both, low):
                free = dict(both.free)
    return free


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _told_apart(
    given: Mapping[str, Any], said: Said, reference: Callable[..., Any]
) -> tuple[Mapping[str, Any], dict[int, int]]:
    """Give axes that have one extent by chance extents of their own: a kernel that takes one for the other is right for squares.

    They are told apart where the reference takes them so, and the function asks for them.

    Returns:
        The values, and for each new extent the one in whose place it is.
    """
    ranks = {name: value.dim() for name, value in given.items() if isinstance(value, Tensor)}

    def moved(extents: Mapping[_Axis, int]) -> dict[str, Any]:
        found, draw = dict(given), partial(torch.randn, generator=torch.Generator().manual_seed(0))
        for name in sorted({name for name, _ in extents}, key=[*given].index):
            shape = [extents.get((name, axis), extent) for axis, extent in enumerate(given[name].shape)]
            like = Like(given[name], " ".join(map(str, shape)), (), given[name].dtype, name)
            (found[name],) = Inputs((like,))(draw)
        return found

    def takes(extents: Mapping[_Axis, int]) -> bool:
        return _tried(reference, [*moved(extents).values()]) is not None

    axes = {(name, axis): extent for name in ranks for axis, extent in enumerate(given[name].shape) if extent > 1}
    apart: dict[_Axis, int] = {}
    chance: dict[int, int] = {}
    used = {*axes.values(), *filter(_is_number, given.values())}
    for extent in dict.fromkeys(axes.values()):
        left = [axis for axis, other in axes.items() if other == extent]
        parts: list[list[_Axis]] = []
        for part in _parts(left, ranks):
            if part and {*part} <= {*left} and all(takes(dict.fromkeys(part, extent + step)) for step in _STEPS):
                parts.append([*part])
                left = [axis for axis in left if axis not in part]
        parts = _tied(parts + [left] * bool(left), ranks, said.ties)
        for part in _told(parts, ranks, said.apart)[:-1]:
            # A multiple: what a text asks of the one, as 128 % 4 == 0, the other has as well.
            new = next(number for number in count(2 * extent, extent) if number not in used)
            used.add(new)
            chance[new] = extent
            apart |= dict.fromkeys(part, new)
    return (moved(apart), chance) if apart and takes(apart) else (given, {})


def _tied(parts: list[list[_Axis]], ranks: Mapping[str, int], ties: Sequence[tuple[End, End]]) -> list[list[_Axis]]:
    """Join parts that a function wants to be of one extent."""
    for (one, i), (other, j) in ties:
        if not ranks.get(one) or not ranks.get(other):
            continue
        whole = [(axis, axis) for axis in range(min(ranks[one], ranks[other]))]
        for a, b in whole if i is None or j is None else [(i % ranks[one], j % ranks[other])]:
            joined = [part for part in parts if {(one, a), (other, b)} & {*part}]
            if len(joined) == 2:
                early, late = joined
                parts = [[*early, *late] if part is late else part for part in parts if part is not early]
    return parts


def _told(
    parts: Sequence[list[_Axis]], ranks: Mapping[str, int], asked: Callable[[str, int, int], bool]
) -> list[list[_Axis]]:
    """Join what a function does not ask for with the nearest axis of the same tensor that it asks for; none are told apart without."""
    known = [(name, axis) for part in parts for name, axis in part if asked(name, axis, ranks[name])]
    told = [[*part] for part in parts if {*known} & {*part}]
    for part in parts:
        if {*known} & {*part}:
            continue
        if not {name for name, _ in part} <= {name for name, _ in known}:
            return []
        near = [(abs(axis - other), same, other) for name, axis in part for same, other in known if same == name]
        home = next(one for one in told if min(near)[1:] in one)
        home += part
        told.sort(key=lambda one: one is home)  # what the reference does not accept at another size comes last
    return told


def _parts(axes: Sequence[_Axis], ranks: Mapping[str, int]) -> Iterator[Sequence[_Axis]]:
    """List what axes of one extent may belong together: each alone, those at one place from either end, and pairs."""
    yield from ([axis] for axis in axes)
    for index in range(max(ranks.values(), default=0)):
        yield [one for one in axes if one[1] == index]
        yield [one for one in axes if ranks[one[0]] - one[1] == index + 1]
    yield from combinations(axes, 2)


def _moves(example: Example, extent: int) -> bool:
    """Tell whether the reference takes the example with another extent in the place of this one."""
    return all(example.run({**example.sizes, example.free[extent]: extent + step}) for step in _STEPS)


def words(value: Any) -> str:
    """Describe a value in a message: `float32 (3, 5)`."""
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return shown(value, 30)


#: The output of an op that is called to see how many tensors a function returns.
COUNT = "count_of_tensors"
COUNTS = (Argument(COUNT, "int"),)


class Trial:
    """The snippet's function itself, called in the worker in the place of a reference that nobody gave.

    Args:
        op, kernel: of the function, as far as its text tells; neither is registered.
    """

    def __init__(self, op: Op, kernel: Kernel) -> None:
        self.op, self.kernel, self.device = op, kernel, usual_device(kernel)
        self.crash: CrashError | None = None

    def __call__(self, *values: Any) -> Any:
        """Call it; once it has crashed it is not called again.

        Raises:
            CrashError: it crashed. Exception: whatever it raises.
        """
        if self.crash is not None:
            raise self.crash
        before = copied(values)
        there = [each(value, lambda one: one.to(DEVICES[self.device].tensors)) for value in values]
        try:
            with registry.lent(self.op):
                returned = call_in_worker(self.kernel, *there, device=self.device)
        except CrashError as crash:
            self.crash = crash
            raise
        for value, other in zip(tensors(values), tensors(there), strict=True):
            value.copy_(other)
        changed = [v for v, b in zip(values, before, strict=True) if isinstance(v, Tensor) and not torch.equal(v, b)]
        results = [each(one, lambda tensor: _itself(tensor.cpu(), changed)) for one in as_tuple(returned)]
        return results[0] if len(results) == 1 else tuple(results)

    def first(self, values: Sequence[Any]) -> Call:
        """Call it with the example.

        Raises:
            CrashError: it crashes. DefinitionError: it raises. BuildError, SignatureError, ToolchainError: it cannot be built.
        """
        example = f"({', '.join(map(words, values))})"
        try:
            return call(self, values)
        except CrashError as crash:
            crash.add_note(
                f"{self.kernel.name}: it ran on the example inputs {example}. Give it such as it takes, or mend it."
            )
            raise
        except LltmInlineError:
            raise
        except Exception as error:
            why = f"it fails on the example inputs {example}: {raised(error)}. Give inputs that it takes"
            raise DefinitionError(why) from error


def _itself(result: Tensor, changed: Sequence[Tensor]) -> Tensor:
    """Return the argument that a result is: one that was changed, and holds what was returned."""
    same = [one for one in changed if one.dtype == result.dtype and torch.equal(one, result)]
    return same[0] if same else result


def seen(op: Op, op_of: Callable[..., Op], kernel_of: Callable[[Op], Kernel], values: Sequence[Any]) -> Op:
    """Complete an op without a reference by runs of the function itself: how many tensors it returns, their dtypes and shapes.

    Raises:
        CrashError, DefinitionError: the function crashes, or raises, on the example inputs.
        BuildError, SignatureError, ToolchainError: it cannot be built, and nothing else says how many tensors it returns.
    """
    uncounted = op.signature.outputs == COUNTS
    try:
        if uncounted:
            (count,) = Trial(op, kernel_of(op)).first(values).results
            op = op_of(count=count)
        trial = Trial(op, kernel_of(op))
        return op_of(trial=(trial, trial.first(values)))
    except (BuildError, SignatureError, ToolchainError):
        if uncounted:
            raise
        return op  # the first build says it again, of a kernel that is registered
