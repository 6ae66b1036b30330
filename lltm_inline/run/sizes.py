"""The sizes that somebody asks for: looked at before anything is built for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

from ..arguments import LARGEST, refusal, shown
from ..errors import InputError
from ..registry import Op


def choose_sizes(op: Op, sizes: Sequence[Sequence[int] | Mapping[str, int]] | None) -> list[tuple[int, ...]]:
    """Bring sizes into the order of the op's letters; None takes the op's own.

    Raises:
        InputError: there are none, or one does not fit the letters.
    """
    if sizes is not None and (not isinstance(sizes, Sequence) or isinstance(sizes, str | bytes)):
        raise refusal("sizes", sizes, f"a list of sizes, numbers for ({', '.join(op.letters)})")
    given = list(op.benchmark_sizes if sizes is None else sizes)
    if not given:
        raise InputError(
            f"op {op.name!r} has no benchmark sizes: give sizes=[...], numbers for ({', '.join(op.letters)})"
        )
    return list(dict.fromkeys(_size_of(op, size) for size in given))


def choose_check_sizes(
    op: Op, sizes: Sequence[Sequence[int] | Mapping[str, int]] | None
) -> list[tuple[int, ...]] | None:
    """Look at the sizes of a check; None stands for the corner sizes.

    Raises:
        InputError: the list is empty, or one of them does not fit the letters.
    """
    if sizes is None:
        return None
    if isinstance(sizes, Sequence) and not isinstance(sizes, str | bytes) and not len(sizes):
        raise InputError(f"check of op {op.name!r}: sizes is empty; leave it out for the corner sizes")
    return choose_sizes(op, sizes)


def _size_of(op: Op, size: Any) -> tuple[int, ...]:
    """Bring one size into the order of the op's letters."""
    if isinstance(size, Mapping):
        if set(size) != set(op.letters):
            given = ", ".join(
                letter if isinstance(letter, str) and len(letter) < 9 else shown(letter) for letter in size
            )
            raise InputError(f"size {shown(dict(size))} names {given}, want {', '.join(op.letters)}")
        size = tuple(size[letter] for letter in op.letters)
    if not isinstance(size, Sequence) or isinstance(size, str | bytes):
        raise InputError(f"sizes is a list of sizes, such as [(16, 32, 128)]; got {shown(size)} in it")
    if not op.allows(size):
        raise InputError(f"size {tuple(size)} of op {op.name!r}: a tensor would have a negative extent")
    elements = sum(math.prod(shape(op.named(size))) for shape in op.shape_of.values())
    room = psutil.virtual_memory().total
    if elements > LARGEST // 16 or elements * 4 > room:  # even in the smallest dtype that is checked
        raise InputError(
            f"size {tuple(size)} of op {op.name!r} has {elements:.3g} elements, "
            f"more than fit into the memory of this machine ({room / 2**30:.0f} GiB)"
        )
    return tuple(size)
