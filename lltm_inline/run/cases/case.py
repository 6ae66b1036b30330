"""A case: one call of forward and backward at a size of the op, and how it differs from the plain one of that size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch

from ...base.arguments import REAL_DTYPES, plural
from ...model.registry import Op
from ...tables.words import ONLY
from ..compare import dtype_name
from .layouts import CHANNELS_LAST, EXPANDED
from .values import VALUES

Size = tuple[int, ...]
#: Distinct odd primes, so that no two axes can be mistaken for each other; few elements, since gradcheck visits each.
PRIMES = (3, 17, 5, 7, 11, 13, 19, 23)
#: Around the widths of vectors and blocks.
EDGES = (7, 16, 19, 127, 128, 129)

#: The groups of the cases that are large enough for several threads, and run on as many as torch has; those of the second
#: are run again and again, as threads do not get in each other's way every time.
MANY, THREADS = "many", "threads"
#: How a call is made: as in training, and as where no gradient is wanted.
MODES = ("", "no_grad", "inference_mode")
#: More than an integer of 32 bits holds: there the last is 0, and the others are of the other sign.
LARGE = (2**31 + 1, -(2**31) - 1, 2**40)


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
        laid: layouts of inputs, and of incoming gradients (`d_y`), by name; the others are contiguous.
        mode: one of `MODES`: with another than the first no gradient is wanted.
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
    laid: tuple[tuple[str, str], ...] = ()
    mode: str = ""

    @property
    def has_ties(self) -> bool:
        """True where equal numbers may stand among the inputs, so that the largest, say, is not one alone."""
        return bool(self.values) or any(layout in EXPANDED for _, layout in self.laid)

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

    def layout_of(self, name: str) -> str:
        """Return how an input lies in memory."""
        if self.laid:
            return dict(self.laid).get(name, "contiguous")
        if self.only not in ("", name):
            return "contiguous"
        return self.layout

    def layout_of_grad(self, name: str) -> str:
        """Return how the incoming gradient of a result lies in memory."""
        return dict(self.laid).get(f"d_{name}", self.grads)

    def describe(self, op: Op) -> str:
        """`B=3, F=17, S=5, float64, inputs transposed`."""
        words = [size_text(op, self.size), *[called(op, self.dtype)] * (not op.first.dtype)]
        return ", ".join([*words, *(one.words(self, op) for one in DEVIATIONS if one.holds(self))])


@dataclass(frozen=True)
class Evidence:
    """What is known of a kernel that is wrong in a case and right in the plain one.

    Attributes:
        op: of the kernel.
        quantity: what is wrong: a result, a gradient, `forward` or `backward`.
        fails: tells whether it is wrong in another case, too.
        contiguous: whether all inputs of the case are.
        unused: whether the kernel's text does no more than name the numbers of the case.
    """

    op: Op
    quantity: str
    fails: Callable[[Case], bool]
    contiguous: bool
    unused: bool


@dataclass(frozen=True)
class Deviation:
    """A way in which a case differs from the plain one of its size.

    Attributes:
        name: of the field of `Case` that says so.
        words: for the description of a case.
        advice: what to look at in a kernel that is wrong for this reason; empty where it is not the reason.
        also: fields that mean nothing without it.
    """

    name: str
    words: Callable[[Case, Op], str]
    advice: Callable[[Case, Evidence], str] = lambda case, seen: ""
    also: tuple[str, ...] = ()

    def holds(self, case: Case) -> bool:
        """Tell whether a case differs in this way."""
        return bool(getattr(case, self.name) != getattr(_PLAIN, self.name))

    def without(self, case: Case) -> Case:
        """Return the case that does not differ in this way."""
        return replace(case, **{name: getattr(_PLAIN, name) for name in (self.name, *self.also)})


_PLAIN = Case("", ())
_STRIDES = "it ignores strides: call .contiguous() first (and keep the result in a variable), or index with them"
_OF_ONE = "the stride of an axis of one element is anything, .contiguous() or not: take lengths from size(), not from stride()"
_OF_LAYOUT = {
    **dict.fromkeys(("transposed", "strided", "padded", CHANNELS_LAST), _STRIDES),
    "misaligned": "it relies on alignment: use unaligned vector loads",
    "expanded": "a gradient from .sum() has stride 0: call .contiguous() on it before reading through a pointer",
    **dict.fromkeys(
        EXPANDED, "an axis that .sum() or expand made has stride 0: call .contiguous(), or index with strides"
    ),
}


def _of_layout(case: Case, seen: Evidence) -> str:
    if case.values and seen.fails(LAYOUT.without(case)):  # then it is the numbers
        return ""
    names = [case.only] if case.only else [tensor.name for tensor in seen.op.signature.tensors]
    guilty = [name for name in names if seen.fails(replace(case, only=name))]
    who = f"{' or '.join(guilty)} is" if guilty else "inputs together are"
    advice = _OF_ONE if case.layout == "transposed" and seen.contiguous else _OF_LAYOUT[case.layout]
    return f"right for contiguous inputs, wrong when {who} {case.layout}: {advice}"


def _of_laid(case: Case, seen: Evidence) -> str:
    """Name the tensors without whose layout it is right: all others lie plainly by then."""
    advice = dict.fromkeys(_OF_LAYOUT[layout] for _, layout in case.laid)
    named = " and ".join(f"{name} is {layout}" for name, layout in case.laid)
    return f"right where all tensors are contiguous, wrong when {named}: {'; '.join(advice)}"


def _of_values(case: Case, seen: Evidence) -> str:
    # What overflows or loses digits gives a wrong number: a call that raises, or reads elsewhere, has another cause.
    advice = f": {VALUES[case.values].advice}" * (seen.quantity not in ("forward", "backward"))
    return f"right for ordinary inputs, wrong with {VALUES[case.values].words}{advice}"


def _of_numbers(case: Case, seen: Evidence) -> str:
    if seen.op.corners:
        more = ": an int holds 32 bits, take it as int64_t" * case.is_large
        return f"right for ordinary numbers, wrong for {_numbers(case, ' = ')}{more}"
    more = ": is the example's written into the text?" * seen.unused
    return f"right with the number of the example, wrong with {_numbers(case, ' = ')}{more}"


def _numbers(case: Case, equals: str = "=") -> str:
    shown = {name: f"{value:g}" if isinstance(value, bool | float) else value for name, value in case.numbers}
    return ", ".join(f"{name}{equals}{value}" for name, value in shown.items())


def _wanted(case: Case, op: Op, prefix: str = "") -> str:
    return ", ".join(f"{prefix}{one.name}" for one, want in zip(op.gradients, case.wanted, strict=True) if want)


def _unused(case: Case, op: Op) -> str:
    return ", ".join(f"d_{output.name}" for output in op.signature.outputs if output.name not in case.used)


LAYOUT = Deviation("layout", lambda case, op: f"{case.only or 'inputs'} {case.layout}", _of_layout, ("only",))
VIEW = Deviation(
    "view",
    lambda case, op: f"tensors of shape {case.view}",
    lambda case, seen: f"right for tensors of one axis, wrong for shape {case.view}",
)
#: In the order in which a description has them, and in which they are suspected.
DEVIATIONS = (
    Deviation(
        "given",
        lambda case, op: "the inputs of the example",
        lambda case, seen: "right for inputs that are drawn, wrong for those of the example",
    ),
    VIEW,
    LAYOUT,
    Deviation("laid", lambda case, op: ", ".join(f"{name} {layout}" for name, layout in case.laid), _of_laid),
    Deviation(
        "mode",
        lambda case, op: f"under torch.{case.mode}()",
        lambda case, seen: f"right where gradients are recorded, wrong under torch.{case.mode}()",
    ),
    Deviation(
        "gain",
        lambda case, op: f"inputs times {case.gain:g}",
        lambda case, seen: (
            f"right for ordinary inputs, wrong when they are {case.gain:g} times larger: exp() overflows; "
            "subtract the row's maximum first where it is a softmax, else use the saved activation or expm1"
        ),
    ),
    Deviation(
        "values",
        lambda case, op: VALUES[case.values].words.replace("the inputs", case.only or "the inputs"),
        _of_values,
        ("only",),
    ),
    Deviation("numbers", lambda case, op: _numbers(case), _of_numbers),
    Deviation("without", lambda case, op: f"without {', '.join(case.without)}"),
    Deviation("members", lambda case, op: f"lists of {plural(case.members or 0, 'tensor')}"),
    Deviation(
        "grads",
        lambda case, op: (
            f"incoming gradients {case.grads}{' (stride 0, as .sum() makes them)' * (case.grads == 'expanded')}"
        ),
        lambda case, seen: (
            f"right for contiguous incoming gradients, wrong when they are {case.grads}: {_OF_LAYOUT[case.grads]}"
        ),
    ),
    Deviation(
        "used",
        lambda case, op: f"only {', '.join(case.used)} used ({_unused(case, op)} undefined)",
        lambda case, seen: (
            "right when all outputs are used: the gradient of an unused output arrives as zeros or undefined"
            * (not any(case.wanted))  # which gradients are wanted says more
        ),
    ),
    Deviation(
        "wanted",
        lambda case, op: f"gradient wanted for {_wanted(case, op) or 'nothing'}",
        lambda case, seen: (
            f"right when all gradients are wanted, wrong when only {_wanted(case, seen.op, 'd_')}: look at how `wanted` is used"
            * any(case.wanted)
        ),
    ),
)


def size_text(op: Op, size: Sequence[int]) -> str:
    """`B=3, F=17, S=5`."""
    return ", ".join(f"{letter}={number}" for letter, number in op.named(size).items()) or ONLY


def prime_size(op: Op) -> Size:
    """The size for gradients: the op's own, or `(3, 17, 5)`."""
    if op.check_size:
        return op.check_size
    return PRIMES[-1:] if len(op.letters) == 1 else tuple(PRIMES[i % len(PRIMES)] for i in range(len(op.letters)))


def small_size(op: Op) -> Size:
    """The size beside which one extent is large: the op's own, or `(2, 3, 2)`."""
    return op.check_size or tuple(2 + i % 2 for i in range(len(op.letters)))


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


def called(op: Op, dtype: torch.dtype) -> str:
    """Name a dtype of cases as an op has it."""
    return dtype_name(dtype.to_complex() if op.is_complex else dtype)


def with_extent(size: Size, axis: int, extent: int) -> Size:
    """Return `size` with another extent, where it has any."""
    return size and (*size[:axis], extent, *size[axis + 1 :])


def elements(op: Op, size: Size) -> int:
    """Count the elements of all inputs and outputs."""
    return sum(map(math.prod, op.extents(size)))
