"""The cases of a check: which sizes, dtypes and layouts, with inputs and what the reference makes of them."""

from __future__ import annotations

import hashlib
import math
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product, zip_longest
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..base.arguments import REAL_DTYPES, plural
from ..base.device import DEVICES
from ..model.op import of_dtype
from ..model.registry import Argument, Op
from ..model.shapes import ELEMENTS
from ..tables.words import ONLY
from ..workers import steps
from .compare import Tolerance, dtype_name
from .function import as_tuple, differentiable, each, gradients_of

Size = tuple[int, ...]
#: Distinct odd primes, so that no two axes can be mistaken for each other; few elements, since gradcheck visits each.
PRIMES = (3, 17, 5, 7, 11, 13, 19, 23)
#: Around the widths of vectors and blocks.
EDGES = (7, 16, 19, 127, 128, 129)
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
#: The groups of the cases that are large enough for several threads, and run on as many as torch has; those of the second
#: are run again and again, as threads do not get in each other's way every time.
MANY, THREADS = "many", "threads"
MANY_ROWS, MANY_ELEMENTS = 301, 50_021
THREADS_ROWS, THREADS_ELEMENTS, _MOST_OF_THREADS = (4099, 2053, 1031, 509), 33_001, 100_000
#: Above the size at which kernels change to another method.
HUGE_ROWS, HUGE_ELEMENTS = (4099, 33), 133_337
#: No seed that a kernel gives itself: one that begins its own random numbers anew would draw the reference's.
_SEED = 20_260_923
#: The largest tolerance for large inputs, which amplify rounding. Beyond it the reference's own rounding counts.
_MOST_SLACK = 0.05
#: The most that is excused where a gradient cancels in double precision: float32 arithmetic inside of it is further off.
_MOST_LEFT, _SHAKES = 1e-9, 8
#: Of so many inputs that have a gradient every subset is tried: of three, each alone and all but one are all there are.
_ALL_SUBSETS = 4
#: How far inputs are moved to tell equal ones apart, and by how much a gradient changes that is another one then.
_TIE, _JUMP, _LEAST_JUMP = 1e-9, 1e-3, 1e-6
#: Of an integer result, this share may change with such a change of the inputs.
_FEW = 0.02
#: A reference that takes so many seconds is not called for other values of its numbers; a number below this is an epsilon.
_DEAR, _NO_ACCOUNT = 1.0, 0.05
#: More than an integer of 32 bits holds: there the last is 0, and the others are of the other sign.
LARGE = (2**31 + 1, -(2**31) - 1, 2**40)
LAYOUTS = ("transposed", "strided", "padded", "misaligned")
CHANNELS_LAST = "channels last"
#: Each input in the next of these layouts: a kernel that takes the strides of one for those of another is right where all are alike.
UNLIKE, _UNLIKE = "laid out differently", ("transposed", "padded", "strided")


@dataclass(frozen=True)
class Values:
    """Numbers that stand among a case's inputs, or in place of all of them.

    Attributes:
        words: for a message.
        magnitude: by how much they amplify rounding; none for those that are not finite.
        numbers: of a dtype and the number of elements, taken in turn.
        advice: what may be wrong with a kernel that fails here.
        mixed: whether every second element keeps its ordinary value.
        rows: whether whole rows have one number, where there are several rows.
    """

    words: str
    magnitude: float
    numbers: Callable[[torch.dtype, int], Sequence[float]]
    advice: str = (
        "exp(), a product or a sum overflows on the way; use a form that does not (subtract the largest, log1p, expm1)"
    )
    mixed: bool = True
    rows: bool = False


def _extremes(dtype: torch.dtype, count: int) -> tuple[float, ...]:
    """The largest numbers whose sum is finite in any order, and the smallest normal ones."""
    limits = torch.finfo(dtype)
    largest = limits.max / (8 * max(count, 1))
    return largest, limits.tiny, -largest, -limits.tiny


def _fourth_roots(dtype: torch.dtype, count: int) -> tuple[float, ...]:
    """Twice the fourth root of the largest number: a product of two is finite, and its square is not."""
    root = 2 * torch.finfo(dtype).max ** 0.25
    return root, -root


def _large_integers(dtype: torch.dtype, count: int) -> tuple[int, ...]:
    """Odd numbers as large as their sum may be, and 1."""
    most = torch.iinfo(dtype).max // (8 * max(count, 1)) | 1
    return (most, 1) if dtype == torch.uint8 else (most, 1, -most, -1)


def _fixed(*numbers: float) -> Callable[[torch.dtype, int], Sequence[float]]:
    return lambda dtype, count: numbers


_AT_ZERO = "the reference has an answer for 0, too: where is something divided by it, or its logarithm taken?"
#: Where something is divided by an input; where exp() overflows in float32 (100) and in float64 (1e4), where squares and products
#: do; and what is no number. The first that shows a mistake is told: what overflows loses digits, too.
VALUES = {
    "0": Values("inputs all 0", 1, _fixed(0.0), _AT_ZERO, mixed=False),
    "0s": Values("0 and -0 among the inputs", 1, _fixed(0.0, -0.0), _AT_ZERO),
    "1": Values(
        "inputs all 1",
        1,
        _fixed(1.0),
        "all of them are equal there, and 1 is where shares and probabilities end: is > meant, or >=?",
        mixed=False,
    ),
    "halves": Values(
        "numbers half-way between two whole ones among the inputs",
        1,
        _fixed(0.5, -1.5, 2.5, -0.5, 7.5, -6.5),
        "torch.round goes to the even one of two, std::round away from 0; and > is not >=",
    ),
    "tiny": Values(
        "1e-5 and -1e-9 among the inputs",
        1,
        _fixed(1e-5, -1e-9),
        "a difference of nearly equal numbers, such as exp(x) - 1 or log(1 + x), loses its digits near 0: use expm1, log1p",
    ),
    "100": Values("inputs all 100", 100, _fixed(100.0), mixed=False),
    "-100": Values("inputs all -100", 100, _fixed(-100.0), mixed=False),
    "+-100": Values("100 and -100 among the inputs", 100, _fixed(100.0, -100.0)),
    "1e4": Values("inputs all 1e4", 1e4, _fixed(1e4), mixed=False),
    "-1e4": Values("inputs all -1e4", 1e4, _fixed(-1e4), mixed=False),
    "+-1e4": Values("1e4 and -1e4 among the inputs", 1e4, _fixed(1e4, -1e4)),
    "rows": Values(
        "every second row all 1e4 or -1e4",
        1e4,
        _fixed(1e4, -1e4),
        "what is taken over all rows, such as the largest number, is right for one of them",
        rows=True,
    ),
    "near": Values(
        "inputs near 1000 that differ little",
        5,
        _fixed(999.1, 1000.3, 1001.7, 998.6, 1000.9, 999.8, 1002.2),
        "a difference of large sums, such as mean(x * x) - mean(x)^2, loses its digits: subtract the mean first",
        mixed=False,
    ),
    "extremes": Values("the largest and the smallest normal numbers among the inputs", 1e4, _extremes),
    "roots": Values("numbers among the inputs whose products overflow when squared", 1e4, _fourth_roots),
    "inf": Values(
        "inf among the inputs", 1, _fixed(math.inf, *[1.0] * 6), "the reference has an answer for infinity, too"
    ),
    "-inf": Values(
        "-inf among the inputs", 1, _fixed(-math.inf, *[1.0] * 6), "the reference has an answer for infinity, too"
    ),
    "-infs": Values(
        "inputs all -inf",
        1,
        _fixed(-math.inf),
        "the reference has an answer where all is -inf, as in a fully masked row: -inf - -inf is NaN",
        mixed=False,
    ),
    "nan": Values(
        "nan among the inputs",
        1,
        _fixed(math.nan, *[1.0] * 6),
        "NaN is to show in the result as it does in the reference's: a comparison with NaN is false, and std::max drops it",
    ),
    "no": Values("masks all False", 1, _fixed(0.0), "nothing is masked there", mixed=False),
    "yes": Values("masks all True", 1, _fixed(1.0), "everything is masked there", mixed=False),
    "integers": Values(
        "large whole numbers among the inputs",
        1,
        _large_integers,
        "what goes through float, double or int loses digits",
    ),
    "wide": Values(
        "whole numbers beyond 2^31 and 2^53 among the inputs",
        1,
        _fixed(2**53 + 1, 2**31 + 5, -(2**53) - 3, -(2**31) - 7),
        "what goes through int, float or double loses digits: they are int64_t",
    ),
}
_NOT_FINITE = ("inf", "-inf", "-infs", "nan")
#: For masks, and for integers.
MASKS, WHOLE = ("no", "yes"), "integers"
#: For 64 bits that hold data, one input at a time: see `wide_integers`.
WIDE = "wide"
_GROUPS = {
    "inf and nan": _NOT_FINITE,
    "zeros": ("0", "0s"),
    "digits": ("halves", "tiny", "near", WHOLE, WIDE),
    "masks": MASKS,
}
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
#: For which a reference may lose digits, too: how many is seen where its inputs change by a few roundings.
LOSE_DIGITS = ("tiny", "near")
#: For which a number that nobody has said the reference takes (`corners`) tells nothing.
_OF_CORNERS = (*_NOT_FINITE, "0", "0s", "halves", WHOLE, *MASKS)
#: Only finiteness is compared here: of all quantities; and of gradients alone, as relu, abs and max have several there.
_FINITE_IS_RIGHT, _FINITE_GRADIENT_IS_RIGHT = ("extremes", "roots"), ("0", "0s")
_WIDE = {
    **dict.fromkeys((torch.float32, torch.float16, torch.bfloat16), torch.float64),
    torch.complex64: torch.complex128,
}


@dataclass(frozen=True)
class Case:
    """One call of forward and backward.

    Attributes:
        group: column of the report's matrix; two cases that differ in it alone are one.
        size: in the order of the op's letters.
        dtype: of all floating inputs.
        layout: `contiguous`, one of `LAYOUTS`, `channels last`, or `expanded` where all elements are the same, of the inputs.
        only: name of the one input that has that layout; empty for all.
        grads: layout of the incoming gradients, also `expanded`.
        used: names of the outputs that are used; empty for all.
        wanted: for each tensor input, whether its gradient is wanted; empty for all.
        gain: factor on all inputs.
        values: which of `VALUES` stand among the inputs, or among those of `only`; empty for none.
        numbers: arguments that are no tensors, with their values, in place of those that the op draws.
        without: optional inputs left out.
        members: of each list no more than so many.
        view: shape of the tensors that may have any; None for one axis.
        given: the very inputs of the example that the op was made of.
    """

    group: str = field(compare=False)
    size: Size
    dtype: torch.dtype = torch.float64
    layout: str = "contiguous"
    only: str = ""
    grads: str = "contiguous"
    used: tuple[str, ...] = ()
    wanted: tuple[bool, ...] = ()
    gain: float = 1.0
    values: str = ""
    numbers: tuple[tuple[str, float | None], ...] = ()
    without: tuple[str, ...] = ()
    members: int | None = None
    view: tuple[int, ...] | None = None
    given: bool = False

    @property
    def plain(self) -> bool:
        """True when only size and dtype make this case."""
        return self == Case(self.group, self.size, self.dtype)

    @property
    def threaded(self) -> bool:
        """True for a case that runs on several threads."""
        return self.group in (MANY, THREADS)

    @property
    def is_large(self) -> bool:
        """True where a number is among `LARGE`."""
        return any(number in LARGE for _, number in self.numbers)

    def layout_of(self, name: str, index: int) -> str:
        """Return how an input lies in memory, the op's first or a later one."""
        if self.only not in ("", name):
            return "contiguous"
        return _UNLIKE[index % len(_UNLIKE)] if self.layout == UNLIKE else self.layout

    def describe(self, op: Op) -> str:
        """`B=3, F=17, S=5, float64, inputs transposed`."""
        words = [size_text(op, self.size), *[dtype_name(self.dtype)] * (not op.first.dtype)]
        if self.given:
            words.append("the inputs of the example")
        if self.view is not None:
            words.append(f"tensors of shape {self.view}")
        if self.layout != "contiguous":
            words.append(f"{self.only or 'inputs'} {self.layout}")
        if self.gain != 1:
            words.append(f"inputs times {self.gain:g}")
        if self.values:
            words.append(VALUES[self.values].words.replace("the inputs", self.only or "the inputs"))
        words += [number_text(name, value) for name, value in self.numbers]
        if self.without:
            words.append(f"without {', '.join(self.without)}")
        if self.members is not None:
            words.append(f"lists of {plural(self.members, 'tensor')}")
        if self.grads != "contiguous":
            words.append(
                f"incoming gradients {self.grads}{' (stride 0, as .sum() makes them)' if self.grads == 'expanded' else ''}"
            )
        if self.used:
            unused = [f"d_{output.name}" for output in op.signature.outputs if output.name not in self.used]
            words.append(f"only {', '.join(self.used)} used ({', '.join(unused)} undefined)")
        if self.wanted:
            names = [t.name for t, wanted in zip(op.gradients, self.wanted, strict=True) if wanted]
            words.append(f"gradient wanted for {', '.join(names) or 'nothing'}")
        return ", ".join(words)


def number_text(name: str, value: float | None, equals: str = "=") -> str:
    """`c=0.5`."""
    return f"{name}{equals}{value:g}" if isinstance(value, bool | float) else f"{name}{equals}{value}"


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


def elements(op: Op, size: Size) -> int:
    """Count the elements of all inputs and outputs."""
    return sum(map(math.prod, op.extents(size)))


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
        Case(_group_of(values), size, dtype, values=values)
        for values in VALUES
        if values != WIDE
        for dtype in (both[:1] if values in MASKS else both)
        if (op.corners or values not in _OF_CORNERS) and any(_takes(one, values, dtype) for one in op.signature.inputs)
    ]
    if len(tensors) > 1:
        cases += [Case("large", size, both[-1], values="+-1e4", only=name) for name in tensors]
    cases += [Case("optional", size, both[0], without=(t.name,)) for t in op.signature.tensors if t.type == "Tensor?"]
    lists = [argument for argument in op.signature.inputs if argument.is_list and op.corners]
    shortest = 1 if {*lists} & {*op.required} else 0
    cases += [Case("lists", size, both[0], members=count) for count in range(shortest, 2) if lists]
    return [*cases, *_number_cases(op, size, both[0])]


def _takes(argument: Argument, values: str, dtype: torch.dtype) -> bool:
    """Tell whether numbers are put into an input, in a case of this dtype: integers of a dtype of their own may be indices."""
    if not (argument.is_tensor or argument.is_list):
        return False
    own = getattr(torch, argument.dtype) if argument.dtype else dtype
    return _fits(values, own) and not (argument.dtype and values == WHOLE)


def _fits(values: str, dtype: torch.dtype) -> bool:
    """Tell whether numbers are of a dtype's kind."""
    if values in MASKS:
        return dtype == torch.bool
    if values == WIDE:
        return dtype == torch.int64
    return dtype in _INTEGERS if values == WHOLE else dtype.is_floating_point or dtype.is_complex


def _group_of(values: str) -> str:
    for group, some in _GROUPS.items():
        if values in some:
            return group
    return "large"


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


@dataclass(frozen=True, eq=False)
class Expected:
    """Inputs of one case and what the reference makes of them; all tensors contiguous and on the CPU."""

    op: Op
    inputs: tuple[Any, ...]
    grads: tuple[Tensor, ...]
    used: tuple[bool, ...]
    outputs: tuple[Tensor, ...]
    gradients: tuple[Tensor | None, ...]
    dtypes: tuple[torch.dtype, ...]
    values: str = ""
    overflows: bool = False
    senseless: bool = False
    random: bool = False
    widened: bool = True
    loses_digits: bool = False
    seconds: float = 0.0

    @cached_property
    def wide(self) -> Mapping[str, Tensor | None]:
        """All of it by quantity."""
        return dict(zip(quantities(self.op), (*self.outputs, *self.gradients), strict=True))

    @cached_property
    def narrow(self) -> Mapping[str, Tensor]:
        """What the reference gives when it computes in the case's own dtype, in the dtype of `wide`."""
        outputs, gradients = run_reference(self.op, self.inputs, self.grads, self.used)
        found = zip(self.wide.items(), (*outputs, *gradients), strict=True)
        return {name: one.to(wide.dtype) for (name, wide), one in found if wide is not None and one is not None}

    @cached_property
    def shaken(self) -> Sequence[Mapping[str, Tensor | None]]:
        """What the reference gives in double precision for inputs that are each off by a few roundings, time and again."""
        found = []
        for turn in range(_SHAKES):
            found.append(self._for_others(partial(_shaken, turn=turn)))
        return found

    def _for_others(self, change: Callable[[Tensor], Tensor]) -> Mapping[str, Tensor | None]:
        """What the reference gives for inputs that are changed in double precision."""

        def changed(value: Tensor) -> Tensor:
            return change(widen(value)).to(widen(value).dtype if self.widened else value.dtype)

        inputs = [each(value, changed) for value in self.inputs]
        grads = [widen(grad) for grad in self.grads] if self.widened else self.grads
        outputs, gradients = run_reference(self.op, inputs, grads, self.used)
        return dict(zip(quantities(self.op), (*outputs, *gradients), strict=True))

    @cached_property
    def apart(self) -> Sequence[Mapping[str, Tensor | None]]:
        """What the reference gives in double precision for inputs that are each off by a little, and no longer equal."""
        generator = torch.Generator().manual_seed(_SEED)
        step = max([4 * torch.finfo(value.dtype).eps for value in self.inputs if differentiable(value)] + [_TIE])

        def moved(value: Tensor) -> Tensor:
            if not differentiable(value):
                return value
            return value + step * torch.randn(
                value.shape, dtype=torch.float64, generator=generator
            ) * value.abs().clamp(min=1)

        return [self._for_others(moved) for _ in range(_SHAKES)]

    def jumps(self, name: str) -> Tensor:
        """Say which elements of a gradient are others at the least change of the inputs: the largest of equal ones has several."""
        want = self.wide[name]
        assert want is not None
        limit = max(_JUMP * want.abs().max().item(), _LEAST_JUMP) if want.numel() else 0.0
        found = torch.zeros_like(want, dtype=torch.bool)
        for one in self.apart:
            moved = one[name]
            assert moved is not None
            found |= (moved - want).abs() > limit
        return found

    def _rounded(self, name: str, got: Tensor) -> Tensor:
        """Say which integers are right as the reference's own are in the case's dtype, or as a rounded number lies between two."""
        want, others = self.wide[name], [one[name] for one in self.apart]
        assert want is not None
        found, open_ = got == self.narrow[name], torch.zeros_like(want, dtype=torch.bool)
        for other in others:
            assert other is not None
            open_ |= other != want
        if open_.sum() <= max(1, _FEW * open_.numel()):  # it is rare, or the least change changes all
            for other in others:
                found |= open_ & (got == other)
        elif self.values and not self.op.corners:  # the indices of equal ones stand in any order
            found |= open_
        return found

    def _in_another_order(self, name: str, got: Tensor) -> bool:
        """Tell whether a result holds what it should elsewhere, and the reference has it elsewhere at the least change, too.

        Which ones of equal inputs are the largest few is anybody's choice.
        """
        want = self.wide[name]
        assert want is not None
        one, other = (value.to(want.dtype).flatten().sort().values for value in (got, want))
        near = partial(torch.allclose, rtol=_JUMP, atol=_LEAST_JUMP, equal_nan=True)
        if not near(one, other):
            return False
        moved = [found for run in self.apart if (found := run[name]) is not None]
        return not all(near(value, want) for value in moved)

    def most_error(self, name: str) -> float:
        """The most that `own_error` can be, without the many runs that it takes."""
        wide, narrow = self.wide[name], self.narrow.get(name)
        if wide is None or narrow is None or not differentiable(wide):
            return 0.0
        left = math.inf if self.loses_digits else _MOST_LEFT if name.startswith("d_") else 0.0
        return max(_furthest(narrow, wide), left)

    def own_error(self, name: str) -> float:
        """How far the reference itself is off: in the case's own dtype; and in a gradient that terms of both signs cancel to.

        Where they cancel to nothing, any two orders of the same sum differ by what is left of their rounding. Of numbers that are
        to show which kernel loses digits, the reference may lose as many.
        """
        wide, narrow = self.wide[name], self.narrow.get(name)
        if wide is None or narrow is None or not differentiable(wide):
            return 0.0
        loses = self.loses_digits
        left = [_furthest(other[name], wide) for other in self.shaken] if loses or name.startswith("d_") else []
        most = math.inf if loses else _MOST_LEFT
        return max(_furthest(narrow, wide), min(max(left, default=0.0), most))

    def to_be_told(self, name: str) -> Tensor:
        """What a quantity should be, in the words of the case's own dtype: infinity where that is what float32 has."""
        want, narrow = self.wide[name], self.narrow.get(name)
        assert want is not None
        return want if narrow is None else torch.where(narrow.isfinite(), want, narrow)

    def excused(self, name: str, got: Tensor) -> Tensor:
        """Say which values of a quantity that differ are right all the same, since there is no answer to compare them with.

        For the largest numbers there is none where anything on the reference's own way is not finite, and for numbers that nobody
        has said it takes (`corners`) an integer has none where anything there is NaN: the index of the largest of some.

        Where the reference in double precision is finite, and in the case's own dtype is not, the kernel may be as it is
        there. Where it is NaN for inputs that are finite, it overflows on the way, and a kernel may be better. Gradients of
        and beside inf and NaN depend on the order of operations; and so do the digits of a sum of the largest numbers: a kernel
        is wrong there only if they are not finite. At 0 the same holds for gradients: |x| has several. Where many inputs are
        equal, the gradient of their largest is that of any of these, and so is the order of what is chosen among them.
        """
        want = self.wide[name]
        assert want is not None
        mask = torch.full_like(got, self.overflows, dtype=torch.bool)
        if not differentiable(want):
            return mask | self.senseless | self._rounded(name, got)
        if name.startswith("d_") and self.values:
            mask |= torch.ones_like(mask) if self.values in _NOT_FINITE else ~want.isfinite()
            mask |= self.jumps(name) & got.isfinite()
        elif self.values and (self.values == "-infs" or self.values not in _NOT_FINITE):
            mask |= want.isnan()
        if self.values in (*_FINITE_IS_RIGHT, *_FINITE_GRADIENT_IS_RIGHT * name.startswith("d_")):
            mask |= want.isfinite() & got.isfinite()
        if self.values and not want.is_complex() and self._in_another_order(name, got):
            mask |= True
        narrow = self.narrow.get(name)
        if narrow is not None:
            same = (got == narrow) | (narrow.isnan() & ~got.isfinite())
            mask |= want.isfinite() & ~narrow.isfinite() & same
        return mask


def _shaken(value: Tensor, turn: int) -> Tensor:
    """Change each real number by a few roundings: how many follows from its bits, so that equal ones stay equal, and 0 is 0."""
    if not differentiable(value):
        return value
    parts = torch.view_as_real(value) if value.is_complex() else value
    mixed = (parts.contiguous().view(torch.int64) + turn) * 6364136223846793005
    shaken = parts * (1 + (mixed >> 60).double() * torch.finfo(torch.float64).eps)
    return torch.view_as_complex(shaken) if value.is_complex() else shaken


def _furthest(one: Tensor | None, other: Tensor) -> float:
    """Return the largest finite difference."""
    if one is None or one.shape != other.shape:
        return 0.0
    error = (one - other).abs()
    error = error[error.isfinite()]
    return error.max().item() if error.numel() else 0.0


def quantities(op: Op) -> list[str]:
    """Names of all results and gradients: `new_h`, `new_cell`, `d_input`, ..."""
    return [*(result.name for result in op.signature.results), *(f"d_{tensor.name}" for tensor in op.gradients)]


def tensor_inputs(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Pick the tensors that have a gradient (or None for an optional one left out) from a set of inputs."""
    return [value for argument, value in zip(op.signature.inputs, inputs, strict=True) if argument in op.gradients]


#: From which other inputs follow than everybody's; empty for those.
_secret: ContextVar[bytes] = ContextVar("lltm_inline_secret", default=b"")


@contextmanager
def secret(seed: bytes) -> Iterator[None]:
    """Have inputs and incoming gradients drawn from a seed that only the caller knows."""
    token = _secret.set(seed)
    try:
        yield
    finally:
        _secret.reset(token)


def generator(*what: Any) -> torch.Generator:
    """Return the generator from which something is drawn: the same numbers each time."""
    told = repr(what).encode()
    if seed := _secret.get():
        return torch.Generator().manual_seed(int.from_bytes(hashlib.blake2b(told, key=seed[:64]).digest()[:7]))
    return torch.Generator().manual_seed(zlib.crc32(told))


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
        drawn = zip(
            op.signature.inputs, *(make_inputs(op, Case("", one, dtype)) for one in (size, _larger(size))), strict=True
        )
    except Exception:  # the plain cases tell of it
        return []
    found: list[Case] = []
    tops = [
        int(one.max()) for one in known.inputs if isinstance(one, Tensor) and one.dtype in _INTEGERS and one.numel()
    ]
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
        case = Case(_group_of(WIDE), size, dtype, values=WIDE, only=argument.name)
        if not (argument.is_tensor and _takes(argument, WIDE, dtype)):
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


def _larger(size: Size) -> Size:
    return tuple(extent + 1 for extent in size)


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
    pairs = [(got, known.wide[name]) for name, got in found.wide.items() if got is not None]
    return (
        all(want in (None, tuple(got.shape)) for want, got in zip(told, found.outputs, strict=False))
        and as_finite(found, known)
        and not all(want is not None and torch.equal(got, want) for got, want in pairs)
    )


def as_finite(found: Expected, known: Expected) -> bool:
    """Tell whether what a reference gives is finite where all that it gives in a known case is."""
    pairs = [(got, known.wide[name]) for name, got in found.wide.items() if got is not None]
    return all(want is not None and (not want.isfinite().all() or bool(got.isfinite().all())) for got, want in pairs)


def make_inputs(op: Op, case: Case) -> tuple[Any, ...]:
    """Make the inputs of a case, the same ones each time."""
    example = getattr(op.inputs, "example", None)
    if case.given and example is not None:
        return tuple(example(case.dtype))
    draw = generator(op.name, case.size)

    def randn(*shape: int) -> Tensor:
        return of_dtype(torch.randn(shape, dtype=torch.float64, generator=draw), dtype_name(case.dtype))

    with seeded(seed=draw.initial_seed()):  # an op may draw indices and masks by itself
        inputs = op.make_inputs(randn, case.size)
    if case.view is not None:
        inputs = tuple(
            each(value, partial(torch.reshape, shape=case.view)) if argument.name in op.any_rank else value
            for argument, value in zip(op.signature.inputs, inputs, strict=True)
        )
    numbers = dict(case.numbers)
    made: list[Any] = []
    for argument, value in zip(op.signature.inputs, inputs, strict=True):
        if argument.name in case.without:
            value = None
        elif argument.name in numbers:
            value = numbers[argument.name]
        elif argument.is_list and case.members is not None:
            value = value[: case.members]
        elif case.gain != 1:
            value = each(
                value, lambda one: one * case.gain if differentiable(one) and (op.corners or _is_any(one)) else one
            )
        elif case.values and case.only in ("", argument.name) and _takes(argument, case.values, case.dtype):
            value = each(value, partial(_with_values, name=case.values, signed=op.corners))
        made.append(value)
    return tuple(made)


def _is_any(value: Tensor) -> bool:
    """Tell whether numbers are not all between 0 and 1, as shares and probabilities are."""
    return value.is_complex() or bool(((value < 0) | (value > 1)).any())


def is_yes_or_no(value: Tensor) -> bool:
    """Tell whether there is nothing but 0 and 1 in a tensor, as in labels and masks."""
    return bool(((value == 0) | (value == 1)).all())


def is_label(value: Any) -> bool:
    """Tell whether a tensor of real numbers says yes or no: both are there, and no ones or zeros alone, as scales and shifts begin with."""
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.numel() > 0
        and bool(value.min() < value.max())
        and is_yes_or_no(value)
    )


def _with_values(value: Tensor, name: str, signed: bool) -> Tensor:
    """Put numbers into every element of a tensor, or every second one; where signs may matter, none into one without any.

    Labels of 0 and 1 stay what they are, and numbers in order stay so, where that may matter.
    """
    values = VALUES[name]
    if not _fits(name, value.dtype) or (not (signed or value.is_complex()) and is_yes_or_no(value)):
        return value
    parts = torch.view_as_real(value) if value.is_complex() else value
    flat = parts.clone().flatten()
    places = slice(1 if values.mixed and flat.numel() > 1 else 0, None, 2 if values.mixed else 1)
    numbers = torch.tensor(values.numbers(flat.dtype, flat.numel()), dtype=flat.dtype)
    filling = flat.view(value.shape[0], -1) if values.rows and value.dim() > 1 and value.numel() else flat.unsqueeze(1)
    count = filling[places].shape[0]
    filling[places] = numbers.repeat(count // len(numbers) + 1)[:count].unsqueeze(1)
    filled = flat.view(parts.shape) if signed or (parts < 0).any() else flat.view(parts.shape).abs()
    if not signed and filled.dim() and not value.is_complex() and bool((value.diff() >= 0).all()):
        filled = filled.sort().values  # what was in order may have to be
    return torch.view_as_complex(filled) if value.is_complex() else filled


def make_grads(op: Op, case: Case, outputs: Sequence[Tensor], dtypes: Sequence[torch.dtype]) -> tuple[Tensor, ...]:
    """Make the incoming gradients of a case; expanded ones hold one value each."""
    draw = generator(op.name, case.size, "grads")
    grads = []
    for number, (output, dtype) in enumerate(zip(outputs, dtypes, strict=True)):
        if case.grads == "expanded":
            grads.append(torch.full(output.shape, 0.75 + number, dtype=dtype))
        else:
            grads.append(torch.randn(output.shape, dtype=torch.float64, generator=draw).to(dtype))
    return tuple(grads)


def leaves_of(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Copy what the op changes, and have those that have a gradient ask for it."""

    def leaf(argument: Argument, value: Any) -> Any:
        if argument.alias:
            return each(value, torch.clone)
        return value.detach().requires_grad_() if argument in op.gradients and differentiable(value) else value

    return [leaf(argument, value) for argument, value in zip(op.signature.inputs, inputs, strict=True)]


def results_of(op: Op, returned: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return all that a call left behind: what it returned, numbers as tensors, then the inputs that it changed, a list as one."""
    pairs = zip(op.signature.inputs, inputs, strict=True)
    changed = [_as_one(value) if argument.is_list else value for argument, value in pairs if argument.alias]
    outputs = as_tuple(returned) if op.signature.outputs else ()
    plain = {output.name for output in op.signature.outputs if not output.is_tensor}
    if plain:
        named = zip_longest((output.name for output in op.signature.outputs), outputs)
        outputs = tuple(_as_tensor(value) if name in plain else value for name, value in named)
    return (*outputs, *changed)


def _as_one(tensors: Sequence[Tensor]) -> Tensor:
    """Make one tensor of a list: where its members have one shape, the first index says which of them it is."""
    if len({one.shape for one in tensors}) == 1:
        return torch.stack([*tensors])
    return torch.cat([one.flatten() for one in tensors]) if tensors else torch.empty(0)


def _as_tensor(number: Any) -> Any:
    """Make a tensor of a number, to be compared; anything else stays as it is."""
    dtype = {int: torch.int64, float: torch.float64, bool: torch.bool}.get(type(number))
    return number if dtype is None else torch.tensor(number, dtype=dtype)


def run_reference(
    op: Op, inputs: Sequence[Any], grads: Sequence[Tensor], used: Sequence[bool]
) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Run the reference forward and backward; a gradient is None for an input that cannot have one."""
    leaves = leaves_of(op, inputs)
    with seeded():
        outputs = results_of(op, op.reference(*leaves), leaves)
    wanted = [leaf for leaf in tensor_inputs(op, leaves) if differentiable(leaf)]
    found = gradients_of(outputs, [grad if use else None for grad, use in zip(grads, used, strict=True)], wanted)
    filled = iter([torch.zeros_like(w) if g is None else g for w, g in zip(wanted, found, strict=True)])
    gradients = tuple(next(filled) if differentiable(leaf) else None for leaf in tensor_inputs(op, leaves))
    return tuple(output.detach() for output in outputs), gradients


# What the reference gives is the same for every kernel of an op: remembered, the oldest forgotten first.
_expected: dict[Any, Expected] = {}
_REMEMBERED = 400


def expect(op: Op, case: Case) -> Expected:
    """Compute what a case should give, in double precision from the very inputs of the case; remembered per process.

    Raises:
        Exception: whatever the reference raises for this size.
    """
    key = (
        op.name,
        op.schema,
        op.differentiable,
        op.reference,
        op.inputs,
        case.size,
        case.dtype,
        case.grads == "expanded",
        case.used,
        case.gain,
        case.values,
        case.only if case.values else "",
        case.numbers,
        case.without,
        case.members,
        case.view,
        case.given,
        _secret.get(),
    )
    known = _expected.get(key)
    if known is None:
        while len(_expected) >= _REMEMBERED:
            del _expected[next(iter(_expected))]
        with steps.step("reference", f"{op.name}/python", lambda: (case.describe(op), ())):
            began = time.thread_time()
            known = _expect(op, case)
            known = _expected[key] = replace(known, seconds=time.thread_time() - began)
    return known


def _expect(op: Op, case: Case) -> Expected:
    inputs = make_inputs(op, case)
    with torch.no_grad(), seeded() as draws:
        leaves = leaves_of(op, inputs)
        results = results_of(op, op.reference(*leaves), leaves)
        dtypes = tuple(result.dtype for result in results)
        random = draws()
    grads = make_grads(op, case, results, dtypes)
    # Double precision would draw other random numbers.
    wide = inputs if random else tuple(widen(value) for value in inputs)
    used = tuple(not case.used or result.name in case.used for result in op.signature.results)
    widened = not random
    try:
        outputs, gradients = run_reference(op, wide, grads if random else [widen(grad) for grad in grads], used)
    except Exception:
        # It has just taken these inputs: what it makes by itself, as torch.zeros(n), is of one dtype.
        widened = False
        outputs, gradients = run_reference(op, inputs, grads, used)
    if not widened:
        outputs, gradients = tuple(map(widen, outputs)), tuple(map(widen, gradients))
    overflows = senseless = False
    is_whole = any(not differentiable(output) for output in outputs)
    if case.values in _FINITE_IS_RIGHT or (case.values and is_whole and not op.corners):
        with _Finite() as on_the_way:
            run_reference(op, inputs, grads, used)
        overflows = case.values in _FINITE_IS_RIGHT and not on_the_way.finite
        senseless = not op.corners and on_the_way.nan
    return Expected(
        op,
        inputs,
        grads,
        used,
        outputs,
        gradients,
        dtypes,
        case.values,
        overflows,
        senseless,
        random,
        widened,
        loses_digits=case.values in LOSE_DIGITS or case.is_large,
    )


@contextmanager
def seeded(device: str = "cpu", seed: int = _SEED) -> Iterator[Callable[[], bool]]:
    """Let torch's random numbers begin anew, and go on afterwards as if nothing had been; tells whether any was drawn."""
    gpu = DEVICES[device].needs_gpu
    with torch.random.fork_rng(devices=None if gpu else []):
        # torch.manual_seed takes down the stack for each kind of accelerator: a fifth of a small kernel's check.
        (torch.manual_seed if gpu else torch.default_generator.manual_seed)(seed)
        before = torch.get_rng_state()
        yield lambda: not torch.equal(torch.get_rng_state(), before)


class _Finite(TorchDispatchMode):
    """Sees whether all that is computed is finite, and whether something is NaN."""

    finite, nan = True, False

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        if "empty" not in str(function):  # which is filled with NaN, and written later
            for value in found if isinstance(found, tuple | list) else (found,):
                self.finite = self.finite and not (differentiable(value) and not value.isfinite().all())
                self.nan = self.nan or bool(differentiable(value) and value.isnan().any())
        return found


class _Whole(TorchDispatchMode):
    """Raises where integers of 64 bits become something else than whole numbers by arithmetic: an index, a count, a real number."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [one for one in tree_leaves((args, kwargs or {})) if isinstance(one, Tensor)]
        of_them = any(one.dtype == torch.int64 for one in given)
        if of_them and not _ARITHMETIC.fullmatch(function.overloadpacket.__name__.strip("_")):
            raise TypeError(f"{function} is no arithmetic of whole numbers")
        found = function(*args, **(kwargs or {}))
        if of_them and any(differentiable(one) for one in tree_leaves(found)):
            raise TypeError(f"{function} makes real numbers")
        return found


#: What makes whole numbers of whole numbers, or says yes or no of them, and looks nothing up.
_ARITHMETIC = re.compile(
    r"abs|add|addcmul|alias|all|amax|amin|and|any|bitwise_(?:and|or|xor|not|left_shift|right_shift)|bmm|cat|"
    r"clamp(?:_max|_min)?|clone|copy|cumsum|detach|div|dot|empty_like|eq|expand|flip|floor_divide|fmod|full_like|g[et]|"
    r"l[et]|[lr]shift|masked_fill|max(?:imum)?|min(?:imum)?|mm|mul|mv|ne|neg|ones_like|or|permute|pow|prod|remainder|roll|"
    r"rsub|select|sign|slice|sort|split|squeeze|stack|sub|sum|t|to_copy|transpose|unbind|unsafe_view|unsqueeze|view|where|"
    r"xor|zeros_like"
)


def widen(value: Any) -> Any:
    """Return a floating or complex tensor in double precision, anything else as it is."""
    return each(value, lambda one: one.to(_WIDE.get(one.dtype, one.dtype)))


def tolerance(op: Op, case: Case) -> Tolerance:
    """How far results may be off: 1e-12 in double precision; in single precision rounding that grows with the sums' length."""
    given = op.tolerances.get(dtype_name(case.dtype))
    if given is not None:
        return Tolerance(*given)
    # Large inputs amplify rounding ahead of a sigmoid or an exponential by their own magnitude, once per factor.
    gain = (case.gain * (VALUES[case.values].magnitude if case.values else 1)) ** 2
    if case.dtype == torch.float64:
        return Tolerance(1e-12 * gain, 1e-12 * gain)
    if (
        case.dtype.is_floating_point and case.dtype.itemsize < torch.float32.itemsize
    ):  # sums are to be kept in single precision: what is left is to round, here and there
        slack = min(4 * torch.finfo(case.dtype).eps * gain, _MOST_SLACK)
        return Tolerance(slack, slack)
    length = min(max(math.prod(case.size), 1), 4096)
    slack = min(16 * torch.finfo(torch.float32).eps * math.sqrt(length) * gain, _MOST_SLACK)
    return Tolerance(slack, slack)


@dataclass(frozen=True, eq=False)
class Placed:
    """A tensor laid out in memory, with the whole storage around it and a copy of that to compare with later."""

    tensor: Tensor
    storage: Tensor
    before: Tensor

    def changed(self) -> Tensor | None:
        """Return a mask of the storage's changed bytes, or None when every bit is as it was."""
        now = self.storage.view(torch.uint8)
        return None if torch.equal(now, self.before) else now != self.before


def place(value: Tensor, layout: str, device: str) -> Placed:
    """Lay a tensor out as `layout` says; NaN fills the gaps and the surroundings, so that a stray read shows."""
    shape = value.shape
    filler = math.nan if differentiable(value) else 0
    value = value.to(DEVICES[device].tensors)
    if layout == "expanded" and value.numel() and bool((value == value.flatten()[0]).all()):
        # Room for all elements, of which only the first is one: a kernel that reads on finds NaN and not foreign memory.
        storage = value.new_full((value.numel() + 64,), filler)
        storage[0] = value.flatten()[0]
        tensor = storage[0].expand(shape)
    elif layout == CHANNELS_LAST and value.dim() >= 4:
        storage = value.movedim(1, -1).contiguous().flatten().clone()
        tensor = storage.view(shape[0], *shape[2:], shape[1]).movedim(-1, 1)
    elif layout == "transposed" and value.dim() >= 2:
        storage = value.transpose(-1, -2).contiguous().flatten().clone()
        tensor = storage.view(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)
    elif layout in ("transposed", "strided", "padded") and value.dim():
        last = shape[-1] + 3 if layout == "padded" else 2 * shape[-1]
        storage = value.new_full((math.prod(shape[:-1]) * last,), filler)
        rows = storage.view(*shape[:-1], last)
        tensor = rows[..., : shape[-1]] if layout == "padded" else rows[..., ::2]
        tensor.copy_(value)
    else:
        # 64 elements of NaN behind, and ahead as well where that leaves the alignment of the tensor as asked for.
        start = 65 if layout == "misaligned" else 64
        storage = value.new_full((start + value.numel() + 64,), filler)
        tensor = storage[start : start + value.numel()].view(shape)
        tensor.copy_(value)
    return Placed(tensor, storage, storage.view(torch.uint8).clone())
