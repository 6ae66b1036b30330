"""Cases that differ in many ways at once, so that each two of the ways meet in one of them: a covering array of strength two.

Most mistakes want one thing, or two at once: an input that is transposed while another is expanded, NaN in one input alone under
`torch.inference_mode()`. To try all combinations would take millions of cases; to try all pairs takes about as many as the two
longest lists of ways have together. (D. M. Cohen et al., The AETG System, IEEE Transactions on Software Engineering 23, 1997.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import combinations, islice, product
from typing import Any, NamedTuple

import torch

from ...model.registry import Argument, Op
from .case import MODES, Case, Size, dtypes_of
from .drawing import SECRET, generator
from .layouts import EXPANDED
from .values import takes

#: Two ways by number, and which level of each.
_Pair = tuple[tuple[int, int], tuple[int, int]]
#: The group of these cases.
PAIRS = "pairs"
#: So many rows are tried for each that is taken.
_CANDIDATES = 3
_VALUES = ("inf", "-inf", "nan", "0s")
_LAID = ("contiguous", "transposed", "padded", "misaligned")


class _Way(NamedTuple):
    """A field of a case, or the layout of one tensor, and what it may be; the first is what the plain case has."""

    name: str
    levels: Sequence[Any]


def pair_cases(op: Op, size: Size, view: tuple[int, ...] | None = None) -> list[Case]:
    """List the cases in which each two of these meet: layouts of inputs and of incoming gradients, values of one input, mode, dtype.

    They are the same ones each time; `view` is the shape of the tensors that may have any.
    """
    inputs = [argument for argument in op.signature.inputs if argument.is_tensor]
    laid = [_Way(one.name, _layouts(op, one)) for one in inputs]
    laid += [_Way(f"d_{one.name}", (*_LAID, *EXPANDED)) for one in op.signature.results if op.gradients]
    real = [one.name for one in inputs if any(takes(one, _VALUES[0], dtype) for dtype in dtypes_of(op))]
    ways = [*laid, _Way("mode", MODES), _Way("dtype", dtypes_of(op))]
    ways += [_Way("values", ("", *_VALUES) if op.corners and real else ("",)), _Way("only", real or ("",))]
    if not laid:
        return []
    cases = []
    for row in _covering(tuple(len(way.levels) for way in ways), op.name, SECRET.get()):
        *layouts, mode, dtype, values, only = (way.levels[level] for way, level in zip(ways, row, strict=True))
        named = [(way.name, layout) for way, layout in zip(laid, layouts, strict=True) if layout != way.levels[0]]
        if mode:  # no gradient comes in
            named = [one for one in named if one[0] in op.shape_of or not one[0].startswith("d_")]
        only = only if values else ""
        cases.append(Case(PAIRS, size, dtype, laid=tuple(named), values=values, only=only, mode=mode, view=view))
    return [case for case in dict.fromkeys(cases) if not case.plain]


def _layouts(op: Op, argument: Argument) -> Sequence[str]:
    """List the layouts of an input; one that is changed must not share its elements, and indices and masks may have to differ."""
    if argument.alias or argument not in op.gradients:
        return _LAID
    return (*_LAID, *EXPANDED)


@lru_cache(maxsize=64)
def _covering(levels: Sequence[int], op: str, secret: bytes) -> Sequence[tuple[int, ...]]:
    """List rows, a level for each way, until each two levels of any two ways have met: always the row that has most new pairs.

    They are drawn from the name of the op, and from what stands in `SECRET`.
    """
    draw, found = generator(op, PAIRS), list[tuple[int, ...]]()
    left: dict[_Pair, None] = {
        ((one, first), (two, second)): None
        for one, two in combinations(range(len(levels)), 2)
        for first, second in product(range(levels[one]), range(levels[two]))
    }
    while left:
        rows = [_row(levels, left, draw) for _ in range(_CANDIDATES)]
        best = max(rows, key=lambda row: len(left.keys() & _pairs(row)))
        for pair in _pairs(best):
            left.pop(pair, None)
        found.append(best)
    return found


def _pairs(row: Sequence[int]) -> set[_Pair]:
    return set(combinations(enumerate(row), 2))


def _row(levels: Sequence[int], left: Collection[_Pair], draw: torch.Generator) -> tuple[int, ...]:
    """Make a row: a pair that is left, and then, way by way in any order, the level that has most such pairs with those before it."""
    start = int(torch.randint(len(left), (), generator=draw))
    row = dict(next(islice(left, start, None)))
    for way in torch.randperm(len(levels), generator=draw).tolist():
        if way not in row:
            counts = [sum(_pair((way, level), one) in left for one in row.items()) for level in range(levels[way])]
            first = int(torch.randint(levels[way], (), generator=draw))  # where several have as many
            row[way] = max(range(levels[way]), key=lambda level: (counts[level], (level - first) % levels[way]))
    return tuple(row[way] for way in range(len(levels)))


def _pair(one: tuple[int, int], two: tuple[int, int]) -> _Pair:
    return (one, two) if one < two else (two, one)
