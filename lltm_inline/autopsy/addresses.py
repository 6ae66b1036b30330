"""Where an address lies, as a person counts: in elements of a named tensor, from its end or its start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.arguments import plural

if TYPE_CHECKING:
    from ..workers.black_box import Region

_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
#: How the guard marks a tensor that is gone.
_FREED = ", after it was freed"
#: From here on a distance is easier to grasp in bytes.
_FAR = 1024


@dataclass(frozen=True)
class Reach:
    """Where an address lies relative to a tensor.

    Attributes:
        name: of the tensor, or what is known of one without a name.
        tensor: with its shape and dtype: `weights (15, 22) float64`.
        element: flat index of what was touched; negative before the start.
        index: the same along each axis, where the tensor fills its memory in order; else the flat index.
        spot: how the element is written: `weights[15, 0] (element 330)`, `x[-1]`.
        distance: `1 element past the end`, `3 elements before the start`; empty for an element inside.
        count: how many elements there are.
        freed: the tensor was gone by then.
    """

    name: str
    tensor: str
    element: int
    index: tuple[int, ...]
    spot: str
    distance: str
    count: int
    freed: bool

    @property
    def past(self) -> bool:
        """It lies past the end."""
        return self.element >= self.count

    @property
    def before(self) -> bool:
        """It lies before the start."""
        return self.element < 0


def reach(address: int, region: Region) -> Reach:
    """Say where an address lies relative to the tensor around it.

    Example:
        >>> from lltm_inline.workers.black_box import Region
        >>> w = Region("w", base=4096, nbytes=48, itemsize=8, shape=(2, 3), dtype="float64")
        >>> found = reach(4096 + 48, w)
        >>> found.spot, found.distance, found.tensor
        ('w[2, 0] (element 6)', '1 element past the end', 'w (2, 3) float64')
        >>> reach(4095, w).spot
        'w[-1, 2] (element -1)'
    """
    name = region.name.removesuffix(_FREED) or "a block of memory"
    typed = region.dtype not in ("", "bytes")
    size = max(1, region.itemsize) if typed else 1
    element, count = (address - region.base) // size, region.nbytes // size
    in_order = typed and bool(region.shape) and math.prod(region.shape) == count
    index = _unflatten(element, region.shape) if in_order else (element,)
    flat = f" (element {element})" if len(index) > 1 else ""
    if name.isidentifier() and in_order:
        spot = f"{name}[{', '.join(map(str, index))}]{flat}"
    else:
        spot = f"{'element' if typed else 'byte'} {element}"
    kind = f"{region.shape} {region.dtype}" if typed else amount(region.nbytes)
    return Reach(
        name=name,
        tensor=f"{name} {kind}" if name.isidentifier() and typed else f"{name}, {kind}",
        element=element,
        index=index,
        spot=spot,
        distance=_distance(element, count, size, "element" if typed else "byte"),
        count=count,
        freed=region.name.endswith(_FREED),
    )


def _unflatten(element: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Split a flat index; whatever lies outside shows in the first axis."""
    index: list[int] = []
    for extent in reversed(shape[1:]):
        element, rest = divmod(element, max(1, extent))
        index.insert(0, rest)
    return (element, *index)


def _distance(element: int, count: int, size: int, unit: str) -> str:
    if 0 <= element < count:
        return ""
    beyond = element - count + 1 if element >= 0 else -element
    text = plural(beyond, unit)
    if size > 1 and beyond * size >= _FAR:
        text += f" ({amount(beyond * size)})"
    return f"{text} {'past the end' if element >= 0 else 'before the start'}"


def amount(count: int) -> str:
    """Write a number of bytes: `56 bytes`, `2 GiB`, `1.5 MiB`."""
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return plural(count, "byte")
