"""The cases that a check tries: corner sizes, layouts, values, and which gradients are wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import torch

from ...model.registry import Op
from ...model.shapes import ELEMENTS
from ...tables.words import ONLY
from .case import MANY, THREADS, Case
from .layouts import CHANNELS_LAST, LAYOUTS, UNLIKE
from .sizes import EDGES, Size, dtypes_of, edge_axis, elements, prime_size, with_extent
from .values import MASKS, OF_CORNERS, VALUES, WIDE, takes

#: How far inputs are scaled up for the case in which exp() overflows.
GAIN = 30.0
#: Shapes of the tensors that may have any.
VIEWS = ((), (3, 5), (2, 3, 5), (2, 1, 3, 4), (2, 1, 3, 2, 5), (1, 2, 1, 3, 2, 2))
#: Every remainder modulo 32, and so modulo 4, 8 and 16, that `EDGES` leaves out.
REMAINDERS = tuple(n for n in range(33, 65) if n % 32 not in {edge % 32 for edge in EDGES})
#: The group of the cases with one long axis.
LONG_AXIS = "long"
#: An extent for all letters at once: kernels that tell two axes apart by their extents cannot here.
ALL_EQUAL = 6
#: One long axis, the first of these for which the tensors are small enough: past 16 bits, past the threads of a block and of several,
#: with a rest; and whole blocks of every usual size.
LONG, BLOCKS = (65_539, 16_411, 4_099, 1_031, 521), (4096, 1024, 512, 256)
#: Larger cases take more time than they are worth.
_MOST_ELEMENTS = 420_000
MANY_ROWS, MANY_ELEMENTS = 301, 50_021
THREADS_ROWS, THREADS_ELEMENTS, _MOST_OF_THREADS = (4099, 2053, 1031, 509), 33_001, 100_000
#: Above the size at which kernels change to another method.
HUGE_ROWS, HUGE_ELEMENTS = (4099, 33), 133_337
#: Of so many inputs that have a gradient every subset is tried: of three, each alone and all but one are all there are.
_ALL_SUBSETS = 4


def size_cases(op: Op, sizes: Sequence[Size] | None) -> list[Case]:
    """List the plain cases: corner sizes in both dtypes, or the sizes that the caller asked for."""
    both = dtypes_of(op)
    if sizes is not None or not op.letters:
        return [Case(",".join(map(str, size)) or ONLY, size, dtype) for size in sizes or [()] for dtype in both]
    primes = prime_size(op)
    count = len(primes)
    # With a size of the op's own, extents depend on each other: take that one for small, too.
    small = op.check_size or tuple(2 + i % 2 for i in range(count))
    edge = edge_axis(op, small)
    groups: list[tuple[str, list[Size]]] = [
        (",".join(map(str, primes)), [primes]),
        (",".join("1" * count), [(1,) * count]),
        ("one of 1", [with_extent(primes, i, 1) for i in range(count) if count > 1]),
        ("one of 0", [with_extent(primes, i, 0) for i in range(count) if op.corners]),
        ("block edges", [with_extent(small, edge, extent) for extent in EDGES]),
        ("all equal", [(ALL_EQUAL,) * count for _ in primes[1:2]]),
    ]
    cases = [
        Case(group, size, dtype)
        for group, of_group in groups
        for size in dict.fromkeys(of_group)
        for dtype in both
        if op.allows(size)
    ]
    if op.any_rank:
        cases += [replace(viewed(op, primes, view), group="ranks", dtype=dtype) for view in VIEWS for dtype in both]
    # Enough for the parallel paths: above the grain of a block, and above one in the number of rows.
    wide = with_extent(small, edge, 129)
    if count > 1:
        first = with_extent(wide, 0, MANY_ROWS)
        rows = [with_extent(small, 0, count) for count in THREADS_ROWS]
        second = next((size for size in rows if elements(op, size) < _MOST_OF_THREADS), rows[-1])
        huge = with_extent(with_extent(small, edge, HUGE_ROWS[1]), 0, HUGE_ROWS[0])
    else:
        first, second, huge = (MANY_ELEMENTS,), (THREADS_ELEMENTS,), (HUGE_ELEMENTS,)
    # Each remainder modulo 32 in one dtype, and so each modulo 16 in both.
    cases += [
        Case("remainders", with_extent(small, edge, extent), both[(extent + extent // 16) % len(both)])
        for extent in REMAINDERS
        if op.allows(with_extent(small, edge, extent))
    ]
    cases += [
        Case(LONG_AXIS, size, dtype)
        for axis in range(count)
        for extents, dtype in ((LONG, both[-1]), (BLOCKS, both[0]))
        if (size := _longest(op, small, axis, extents))
    ]
    many = [Case(MANY, first, both[0]), Case(THREADS, second, both[-1]), Case(MANY, huge, both[-1])]
    many += [Case(MANY, (1,) * count, both[0])]  # with less than one element for each thread
    return cases + [case for case in many if op.allows(case.size) and elements(op, case.size) < _MOST_ELEMENTS]


def _longest(op: Op, size: Size, axis: int, extents: Sequence[int]) -> Size | None:
    """Return `size` with the first extent for which the tensors are small enough; None where none is."""
    sizes = (with_extent(size, axis, extent) for extent in extents)
    return next((size for size in sizes if op.allows(size) and elements(op, size) < _MOST_ELEMENTS), None)


def viewed(op: Op, size: Size, view: tuple[int, ...]) -> Case:
    """Return the case in which the tensors that may have any shape have this one."""
    return Case("", with_extent(size, op.letters.index(ELEMENTS), math.prod(view)), view=view)


def layout_cases(op: Op, size: Size) -> list[Case]:
    """List the cases at one size that differ in layout, incoming gradients, magnitude and inputs left out."""
    view = None
    if op.any_rank:  # two axes, or no layout could be transposed or padded
        view = (5, size[op.letters.index(ELEMENTS)])
        size = viewed(op, size, view).size
    return [replace(case, view=view) for case in _layout_cases(op, size)]


def _layout_cases(op: Op, size: Size) -> list[Case]:
    both, tensors = dtypes_of(op), [tensor.name for tensor in op.signature.tensors]
    cases = [Case("misaligned" if layout == "misaligned" else "strided", size, layout=layout) for layout in LAYOUTS]
    if op.gradients:
        cases += [Case("grads expanded", size, grads="expanded")]
        cases += [Case("grads strided", size, grads=layout) for layout in LAYOUTS]
    outputs = [output.name for output in op.signature.outputs]
    if len(outputs) > 1 and op.gradients:
        cases += [Case("one output", size, used=(name,)) for name in outputs]
    cases = [replace(case, dtype=dtype) for case in cases for dtype in both]
    if not op.signature.changed:  # an input that is changed must not share its elements
        cases += [Case("strided", size, both[0], layout="expanded", values="1")]
    if any(len(shape.dims) > 3 for shape in op.shape_of.values()):
        cases += [Case("strided", size, both[0], layout=CHANNELS_LAST)]
        cases += [Case("grads strided", size, both[0], grads=CHANNELS_LAST)] if op.gradients else []
    if len(tensors) > 1:  # one alone, when a kernel asks the first whether all are contiguous
        cases += [Case("strided", size, both[0], layout="transposed", only=name) for name in tensors]
        cases += [Case("strided", size, both[0], layout=UNLIKE)]
    # Of one row or column the stride is anything, and the tensor contiguous all the same.
    flat = [with_extent(size, axis, 1) for axis in range(len(size)) if len(size) > 1]
    cases += [Case("strided", one, both[0], layout="transposed") for one in flat if op.allows(one)]
    cases += [Case("large", size, dtype, gain=GAIN) for dtype in both]
    cases += [
        Case(VALUES[values].group, size, dtype, values=values)
        for values in VALUES
        if values != WIDE
        for dtype in (both[:1] if values in MASKS else both)
        if (op.corners or values not in OF_CORNERS) and any(takes(one, values, dtype) for one in op.signature.inputs)
    ]
    if len(tensors) > 1:
        cases += [Case("large", size, both[-1], values="+-1e4", only=name) for name in tensors]
    cases += [Case("optional", size, both[0], without=(t.name,)) for t in op.signature.tensors if t.type == "Tensor?"]
    lists = [argument for argument in op.signature.inputs if argument.is_list and op.corners]
    shortest = 1 if {*lists} & {*op.required} else 0
    cases += [Case("lists", size, both[0], members=count) for count in range(shortest, 2) if lists]
    return [*cases, *_number_cases(op, size, both[0])]


def _number_cases(op: Op, size: Size, dtype: torch.dtype) -> list[Case]:
    """List the cases in which an argument that is no tensor is 0, 1, -1 or 0.1, either of two answers, or left out."""
    if not op.corners:
        return []
    tried = {"float": (0.0, 1.0, -1.0, 0.1), "int": (0, 1, -1), "bool": (False, True)}
    return [
        Case("numbers", size, dtype, numbers=((argument.name, value),))
        for argument in op.signature.inputs
        if not argument.is_tensor
        for value in (*tried.get(argument.type.removesuffix("?"), ()), *[None] * argument.type.endswith("?"))
    ]


def subset_cases(op: Op, size: Size) -> list[Case]:
    """List the cases in which only some inputs want a gradient: none, each alone, all but one, alternating ones; up to four, any."""
    n, dtype = len(op.gradients), dtypes_of(op)[0]
    if not n:
        return []
    if n < 2:
        return [Case("subsets", size, dtype, wanted=(False,) * n)]
    masks = [tuple(i == k for i in range(n)) for k in range(n)]
    masks += [tuple(i != k for i in range(n)) for k in range(n)] if n > 2 else []
    if n == _ALL_SUBSETS:
        masks += [*product((False, True), repeat=n)][1:-1]
    masks += [tuple(i % 2 == k for i in range(n)) for k in (0, 1)] if n > 3 else []
    if op.parameters:  # as in training, where the data want none
        masks += [tuple(tensor.name in op.parameters for tensor in op.gradients)]
    cases = [Case("subsets", size, dtype, wanted=mask) for mask in (*dict.fromkeys(masks), (False,) * n)]
    outputs = [output.name for output in op.signature.outputs]
    if len(outputs) > 1:
        cases += [
            Case("subsets", size, dtype, wanted=mask, used=(outputs[k % len(outputs)],)) for k, mask in enumerate(masks)
        ]
    return cases


def given_cases(op: Op) -> list[Case]:
    """List the cases of the example that an op was made of: it may be of a kind that is not drawn, such as boxes or sorted numbers.

    Without gradients, as it may have been made of zeros; and of one that is scaled down for a check nothing.
    """
    if not hasattr(op.inputs, "example") or op.benchmark_sizes[:1] != (op.check_size,):
        return []
    none = (False,) * len(op.gradients)
    return [Case("as given", op.check_size, dtype, wanted=none, given=True) for dtype in dtypes_of(op)]
