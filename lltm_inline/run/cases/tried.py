"""The cases that a check tries: corner sizes, layouts, values, which gradients are wanted; and what only some references answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ...model.registry import Op
from ...model.shapes import ELEMENTS
from ...tables.words import ONLY
from ..function import differentiable, tensors
from .case import EDGES, MANY, THREADS, Case, Size, dtypes_of, edge_axis, elements, prime_size, small_size, with_extent
from .drawing import make_inputs, seeded
from .expectation import Expected, as_finite, expect, leaves_of
from .layouts import CHANNELS_LAST, LAYOUTS
from .values import INTEGERS, LAST, MASKS, OF_CORNERS, VALUES, WIDE, takes

#: What is tried of an argument that is no tensor, by its type.
_NUMBERS = {"float": (0.0, 1.0, -1.0, 0.1), "int": (0, 1, -1), "bool": (False, True)}
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
#: A reference that takes so many seconds is not called for other values of its numbers; a number below this is an epsilon.
_DEAR, _NO_ACCOUNT = 1.0, 0.05


def size_cases(op: Op, sizes: Sequence[Size] | None) -> list[Case]:
    """List the plain cases: corner sizes in both dtypes, or the sizes that the caller asked for."""
    both = dtypes_of(op)
    if sizes is not None or not op.letters:
        return [Case(",".join(map(str, size)) or ONLY, size, dtype) for size in sizes or [()] for dtype in both]
    primes = prime_size(op)
    count = len(primes)
    # With a size of the op's own, extents depend on each other: that one is the small one, too.
    small = small_size(op)
    edge = edge_axis(op, small)
    groups = [
        (",".join(map(str, primes)), [primes]),
        (",".join("1" * count), [(1,) * count]),
        ("one of 1", [with_extent(primes, i, 1) for i in range(count) if count > 1]),
        ("one of 0", [with_extent(primes, i, 0) for i in range(count) if op.corners]),
        ("block edges", [with_extent(small, edge, extent) for extent in EDGES]),
        ("all equal", [(ALL_EQUAL,) * count for _ in primes[1:2]]),
    ]
    cases = [Case(group, size, dtype) for group, some in groups for size in dict.fromkeys(some) for dtype in both]
    if op.any_rank:
        cases += [replace(viewed(op, primes, view), group="ranks", dtype=dtype) for view in VIEWS for dtype in both]
    # Each remainder modulo 32 in one dtype, and so each modulo 16 in both.
    cases += [
        Case("remainders", with_extent(small, edge, extent), both[(extent + extent // 16) % len(both)])
        for extent in REMAINDERS
    ]
    cases += [
        Case(LONG_AXIS, size, dtype)
        for axis in range(count)
        for extents, dtype in ((LONG, both[-1]), (BLOCKS, both[0]))
        if (size := _first(op, [with_extent(small, axis, extent) for extent in extents], _MOST_ELEMENTS))
    ]
    longest = [case for case in cases if case.group == LONG_AXIS and max(case.size) in LONG]
    cases += [replace(case, values=values) for case in longest for values in LAST]
    # Enough for the parallel paths: above the grain of a block, and above one in the number of rows.
    if count > 1:
        first = with_extent(with_extent(small, edge, 129), 0, MANY_ROWS)
        rows = [with_extent(small, 0, count) for count in THREADS_ROWS]
        second = _first(op, rows, _MOST_OF_THREADS) or rows[-1]
        huge = with_extent(with_extent(small, edge, HUGE_ROWS[1]), 0, HUGE_ROWS[0])
    else:
        first, second, huge = (MANY_ELEMENTS,), (THREADS_ELEMENTS,), (HUGE_ELEMENTS,)
    many = [Case(MANY, first, both[0]), Case(THREADS, second, both[-1]), Case(MANY, huge, both[-1])]
    many += [Case(MANY, (1,) * count, both[0])]  # with less than one element for each thread
    cases += [case for case in many if elements(op, case.size) < _MOST_ELEMENTS]
    return [case for case in cases if op.allows(case.size)]


def _first(op: Op, sizes: Sequence[Size], most: int) -> Size | None:
    """Return the first size at which the tensors have fewer elements; None where none has."""
    return next((size for size in sizes if op.allows(size) and elements(op, size) < most), None)


def viewed(op: Op, size: Size, view: tuple[int, ...]) -> Case:
    """Return the case in which the tensors that may have any shape have this one."""
    return Case("", with_extent(size, op.letters.index(ELEMENTS), math.prod(view)), view=view)


def layout_cases(op: Op, size: Size) -> list[Case]:
    """List the cases at one size that differ in layout, incoming gradients, magnitude, numbers, and inputs left out."""
    view = None
    if op.any_rank:  # two axes, or no layout could be transposed or padded
        view = (5, size[op.letters.index(ELEMENTS)])
        size = viewed(op, size, view).size
    both, tensors = dtypes_of(op), [tensor.name for tensor in op.signature.tensors]
    cases = [Case("misaligned" if layout == "misaligned" else "strided", size, layout=layout) for layout in LAYOUTS]
    if op.gradients:
        cases += [Case("grads expanded", size, grads="expanded")]
        cases += [Case("grads strided", size, grads=layout) for layout in LAYOUTS]
    outputs = [output.name for output in op.signature.outputs]
    if len(outputs) > 1 and op.gradients:
        cases += [Case("one output", size, used=(name,)) for name in outputs]
    # Each in one dtype: in the other they are among the pairs.
    cases = [replace(case, dtype=both[number % len(both)]) for number, case in enumerate(cases)]
    if not op.signature.changed:  # an input that is changed must not share its elements
        cases += [Case("strided", size, both[0], layout="expanded", values="1")]
    if any(len(shape.dims) > 3 for shape in op.shape_of.values()):
        cases += [Case("strided", size, both[0], layout=CHANNELS_LAST)]
        cases += [Case("grads strided", size, both[0], grads=CHANNELS_LAST)] if op.gradients else []
    # Of one row or column the stride is anything, and the tensor contiguous all the same.
    flat = [with_extent(size, axis, 1) for axis in range(len(size)) if len(size) > 1]
    cases += [Case("strided", one, both[0], layout="transposed") for one in flat if op.allows(one)]
    cases += [Case("large", size, dtype, gain=GAIN) for dtype in both]
    cases += [
        Case(VALUES[values].group, size, dtype, values=values)
        for values in VALUES
        if values not in (WIDE, *LAST)
        for dtype in (both[:1] if values in MASKS else both)
        if (op.corners or values not in OF_CORNERS) and any(takes(one, values, dtype) for one in op.signature.inputs)
    ]
    if len(tensors) > 1:
        cases += [Case("large", size, both[-1], values="+-1e4", only=name) for name in tensors]
    cases += [Case("optional", size, both[0], without=(t.name,)) for t in op.signature.tensors if t.type == "Tensor?"]
    lists = [argument for argument in op.signature.inputs if argument.is_list and op.corners]
    shortest = 1 if {*lists} & {*op.required} else 0
    cases += [Case("lists", size, both[0], members=count) for count in range(shortest, 2) if lists]
    cases += [
        Case("numbers", size, both[0], numbers=((argument.name, value),))
        for argument in op.signature.inputs
        if op.corners and not argument.is_tensor
        for value in (*_NUMBERS.get(argument.type.removesuffix("?"), ()), *[None] * argument.type.endswith("?"))
    ]
    return [replace(case, view=view) for case in cases]


def subset_cases(op: Op, size: Size) -> list[Case]:
    """List the cases in which only some inputs want a gradient: none, each alone, all but one, alternating ones; up to four, any."""
    n, dtype = len(op.gradients), dtypes_of(op)[0]
    if n < 2:
        return [Case("subsets", size, dtype, wanted=(False,))] * n
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


def other_numbers(op: Op) -> list[Case]:
    """List the cases in which a number has not the value of the example that the op was made of: a text may have that written in.

    Of those that the reference answers with other numbers, and with finite ones where the example's answer is, two for each argument.
    Signs stay: a limit may have to be below another, and -1 stands for something of its own.
    """
    size, dtype = prime_size(op), dtypes_of(op)[0]
    if op.corners or not getattr(op.reference, "of_a_cell", False) or all(one.is_tensor for one in op.signature.inputs):
        return []
    try:
        known = expect(op, Case("", size, dtype))
        both = (make_inputs(op, Case("", tuple(extent + more for extent in size), dtype)) for more in (0, 1))
        drawn = zip(op.signature.inputs, *both, strict=True)
    except Exception:  # the plain cases tell of it
        return []
    found: list[Case] = []
    tops = [int(one.max()) for one in known.inputs if isinstance(one, Tensor) and one.dtype in INTEGERS and one.numel()]
    # A number that goes along with the size is none that anybody chooses.
    for argument, value, other in drawn if known.seconds < _DEAR else ():
        numbers = _near(argument.type.removesuffix("?"), value)
        if argument.type == "int" and isinstance(value, int):  # what may be an index stays below what may be its end
            numbers = [one for one in numbers if not any(one <= top < value for top in tops)]
        cases = [
            Case("numbers", size, dtype, numbers=((argument.name, number),)) for number in numbers if value == other
        ]
        found += [case for case in cases if _answers(op, case, known)][:2]
    return found


def wide_integers(op: Op) -> list[Case]:
    """List the cases in which whole numbers of 64 bits are beyond what int, float and double hold, one input at a time.

    That is where they are data. What is below some extent or number may be an index, and what the reference looks up, counts with or
    makes real numbers of tells nothing: it computes whole numbers of them, and nothing else.
    """
    size, dtype = prime_size(op), dtypes_of(op)[0]
    found: list[Case] = []
    for argument in op.signature.inputs:
        case = Case(VALUES[WIDE].group, size, dtype, values=WIDE, only=argument.name)
        if not (argument.is_tensor and takes(argument, WIDE, dtype)):
            continue
        try:
            inputs = make_inputs(op, Case("", size, dtype))
            value = inputs[op.signature.inputs.index(argument)]
            if not _may_be_index(value, inputs) and _computes_whole(op, case):
                found.append(case)
        except Exception:  # whatever inputs and reference raise: it does not take such numbers
            continue
    return found


def _may_be_index(value: Any, inputs: Sequence[Any]) -> bool:
    """Tell whether whole numbers are none, or none above any extent or number among the inputs."""
    if not isinstance(value, Tensor) or not value.numel():
        return True
    ends = [extent for one in inputs if isinstance(one, Tensor) for extent in one.shape]
    ends += [one for one in inputs if isinstance(one, int)]
    return max(ends, default=0) >= int(value.max()) >= 0


def _computes_whole(op: Op, case: Case) -> bool:
    """Tell whether a reference takes the numbers of a case, and computes nothing but whole numbers of them."""
    names = getattr(getattr(op.reference, "function", op.reference), "__code__", None)
    if names is not None and {"tolist", "numpy"} & {*names.co_names}:  # Python may count up to them
        return False
    inputs = make_inputs(op, case)
    with torch.no_grad(), seeded(), _Whole():
        op.reference(*leaves_of(op, inputs))
    return True


def _near(kind: str, value: Any) -> Sequence[float]:
    """List numbers like one, the likeliest to be taken first; what a `float` holds is exact in single precision, too."""
    if kind == "bool" and value is not None:
        return (not value,)
    if kind == "int" and isinstance(value, int) and value >= 0:
        return [n for n in dict.fromkeys((value - 1, value // 2, value + 1, 2 * value)) if n >= 0 and n != value]
    if kind == "float" and isinstance(value, int | float) and math.isfinite(value):
        # The least numbers are there to be of no account: one that counts shows more.
        more = math.copysign(0.25, value) if abs(value) < _NO_ACCOUNT else 1.5 * value
        held = [torch.tensor(one, dtype=torch.float32).item() for one in (more, 0.75 * value)]
        return [one for one in held if one and math.isfinite(one)]
    return ()


def _answers(op: Op, case: Case, known: Expected) -> bool:
    """Tell whether the reference has an answer to a case that is as finite as the known one, of the declared shapes, and another."""
    try:
        found = expect(op, case)
        sizes = dict(zip((one.name for one in op.signature.inputs), found.inputs, strict=True)) | op.named(case.size)
        shapes = [op.shape_of[output.name] for output in op.signature.outputs if output.name in op.shape_of]
        told = [None if shape.untold or shape.any_rank else shape(sizes) for shape in shapes]
    except Exception:  # whatever a reference raises: it does not take that number
        return False
    return (
        all(want in (None, tuple(got.shape)) for want, got in zip(told, found.outputs, strict=False))
        and as_finite(found, known)
        and not all(torch.equal(got, known.wide[name]) for name, got in found.wide.items())
    )


class _Whole(TorchDispatchMode):
    """Raises where integers of 64 bits become a number of Python's, which may count up to it, or real numbers.

    Those that are used as indices or counts raise by themselves: they are beyond any end.
    """

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        of_them = any(one.dtype == torch.int64 for one in tensors((args, kwargs or {})))
        if of_them and function is torch.ops.aten._local_scalar_dense.default:
            raise TypeError("a whole number goes to Python")
        found = function(*args, **(kwargs or {}))
        if of_them and any(differentiable(one) for one in tree_leaves(found)):
            raise TypeError(f"{function} makes real numbers")
        return found
