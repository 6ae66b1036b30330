"""The sizes and dtypes that an op is tried at."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ...base.arguments import REAL_DTYPES
from ...model.registry import Op
from ...tables.words import ONLY

Size = tuple[int, ...]
#: Distinct odd primes, so that no two axes can be mistaken for each other; few elements, since gradcheck visits each.
PRIMES = (3, 17, 5, 7, 11, 13, 19, 23)
#: Around the widths of vectors and blocks.
EDGES = (7, 16, 19, 127, 128, 129)


def size_text(op: Op, size: Sequence[int]) -> str:
    """`B=3, F=17, S=5`."""
    return ", ".join(f"{letter}={number}" for letter, number in op.named(size).items()) or ONLY


def prime_size(op: Op) -> Size:
    """The size for gradients: the op's own, or `(3, 17, 5)`."""
    if op.check_size:
        return op.check_size
    return PRIMES[-1:] if len(op.letters) == 1 else tuple(PRIMES[i % len(PRIMES)] for i in range(len(op.letters)))


def edge_axis(op: Op, size: Size) -> int:
    """Choose the extent that is tried around the widths of vectors and blocks: the one that outputs are contiguous along."""
    shapes = [op.shape_of[one.name] for one in (*op.signature.results, *op.signature.inputs) if one.name in op.shape_of]
    last = shapes[0].dims[-1:]
    inner = [op.letters.index(letter) for dim in last for letter, count in dim.terms if count > 0]
    for axis in (*inner, *reversed(range(len(size)))):
        if op.allows(with_extent(size, axis, max(EDGES))):
            return axis
    return len(size) - 1


def dtypes_of(op: Op) -> tuple[torch.dtype, ...]:
    """The dtypes of the real numbers that an op's inputs are made of, the widest first."""
    if op.first.dtype:  # every tensor has its own
        own = [argument.dtype for argument in op.signature.tensors if argument.dtype in REAL_DTYPES]
        return (getattr(torch, own[0] if own else "float32").to_real(),)
    taken = dict.fromkeys(getattr(torch, name).to_real() for name in op.dtypes)
    return tuple(sorted(taken, key=lambda dtype: -dtype.itemsize))


def with_extent(size: Size, axis: int, extent: int) -> Size:
    """Return `size` with another extent, where it has any."""
    return size and (*size[:axis], extent, *size[axis + 1 :])


def elements(op: Op, size: Size) -> int:
    """Count the elements of all inputs and outputs."""
    return sum(map(math.prod, op.extents(size)))
