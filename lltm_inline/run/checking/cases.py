"""The cases of a check: which sizes, dtypes and layouts, with inputs and what the reference makes of them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ...registry import Op
from ...shapes import ELEMENTS
from ..worker import steps
from .compare import Tolerance, dtype_name

Size = tuple[int, ...]
#: Distinct odd primes, so that no two axes can be mistaken for each other; few elements, since gradcheck visits each.
PRIMES = (3, 17, 5, 7, 11, 13, 19, 23)
#: Around the widths of vectors and blocks.
EDGES = (7, 16, 19, 127, 128, 129)
#: How far inputs are scaled up for the case in which exp() overflows.
GAIN = 30.0
#: Shapes of the tensors that may have any.
VIEWS = ((), (3, 5), (2, 3, 5), (2, 1, 3, 4))
#: Larger cases cost more than they tell.
_MOST_ELEMENTS = 400_000
#: The group of the cases that are large enough for several threads, and run on as many as torch has.
MANY = "many"
MANY_ROWS, MANY_ELEMENTS = (301, 1031), (50_021, 70_001)
LAYOUTS = ("transposed", "strided", "padded", "misaligned")
_WIDE = {torch.float32: torch.float64, torch.complex64: torch.complex128}


@dataclass(frozen=True)
class Case:
    """One call of forward and backward.

    Attributes:
        group: column of the report's matrix; two cases that differ in it alone are one.
        size: in the order of the op's letters.
        dtype: of all floating inputs.
        layout: `contiguous`, or one of `LAYOUTS`, of the inputs.
        only: name of the one input that has that layout; empty for all.
        grads: layout of the incoming gradients, also `expanded`.
        used: names of the outputs that are used; empty for all.
        wanted: for each tensor input, whether its gradient is wanted; empty for all.
        gain: factor on all inputs.
        without: optional inputs left out.
        view: shape of the tensors that may have any; None for one axis.
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
    without: tuple[str, ...] = ()
    view: tuple[int, ...] | None = None

    @property
    def plain(self) -> bool:
        """True when only size and dtype make this case."""
        return self == Case(self.group, self.size, self.dtype)

    def describe(self, op: Op) -> str:
        """`B=3, F=17, S=5, float64, inputs transposed`."""
        words = [size_text(op, self.size), dtype_name(self.dtype)]
        if self.view is not None:
            words.append(f"tensors of shape {self.view}")
        if self.layout != "contiguous":
            words.append(f"{self.only or 'inputs'} {self.layout}")
        if self.gain != 1:
            words.append(f"inputs times {self.gain:g}")
        if self.without:
            words.append(f"without {', '.join(self.without)}")
        if self.grads != "contiguous":
            words.append(
                f"incoming gradients {self.grads}{' (stride 0, as .sum() makes them)' if self.grads == 'expanded' else ''}"
            )
        if self.used:
            unused = [f"d_{output.name}" for output in op.signature.outputs if output.name not in self.used]
            words.append(f"only {', '.join(self.used)} used ({', '.join(unused)} undefined)")
        if self.wanted:
            names = [t.name for t, wanted in zip(op.signature.tensors, self.wanted, strict=True) if wanted]
            words.append(f"gradient wanted for {', '.join(names) or 'nothing'}")
        return ", ".join(words)


def size_text(op: Op, size: Sequence[int]) -> str:
    """`B=3, F=17, S=5`."""
    return ", ".join(f"{letter}={number}" for letter, number in op.named(size).items())


def prime_size(op: Op) -> Size:
    """The size for gradients: the op's own, or `(3, 17, 5)`."""
    if op.check_size:
        return op.check_size
    return PRIMES[-1:] if len(op.letters) == 1 else tuple(PRIMES[i % len(PRIMES)] for i in range(len(op.letters)))


def edge_axis(op: Op, size: Size) -> int:
    """Choose the extent that is tried around the widths of vectors and blocks: the one that outputs are contiguous along."""
    last = op.shape_of[op.signature.outputs[0].name].dims[-1:]
    inner = [op.letters.index(letter) for dim in last for letter, count in dim.terms if count > 0]
    for axis in (*inner, *reversed(range(len(size)))):
        if op.allows(with_extent(size, axis, max(EDGES))):
            return axis
    return len(size) - 1


def with_extent(size: Size, axis: int, extent: int) -> Size:
    """Return `size` with another extent."""
    return (*size[:axis], extent, *size[axis + 1 :])


def size_cases(op: Op, sizes: Sequence[Size] | None) -> list[Case]:
    """List the plain cases: corner sizes in both dtypes, or the sizes that the caller asked for."""
    both = (torch.float64, torch.float32)
    if sizes is not None:
        return [Case(",".join(map(str, size)), size, dtype) for size in sizes for dtype in both]
    primes = prime_size(op)
    count = len(primes)
    # With a size of the op's own, extents depend on each other: take that one for small, too.
    small = op.check_size or tuple(2 + i % 2 for i in range(count))
    edge = edge_axis(op, small)
    groups: list[tuple[str, list[Size]]] = [
        (",".join(map(str, primes)), [primes]),
        (",".join("1" * count), [(1,) * count]),
        ("one of 1", [with_extent(primes, i, 1) for i in range(count) if count > 1]),
        ("one of 0", [with_extent(primes, i, 0) for i in range(count)]),
        ("block edges", [with_extent(small, edge, extent) for extent in EDGES]),
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
    rows = MANY_ROWS if count > 1 else MANY_ELEMENTS
    many = [
        Case(MANY, with_extent(wide, 0, rows[0]), torch.float64),
        Case(MANY, with_extent(small, 0, rows[1]), torch.float32),
    ]
    return cases + [case for case in many if op.allows(case.size) and _elements(op, case.size) < _MOST_ELEMENTS]


def _elements(op: Op, size: Size) -> int:
    return sum(math.prod(shape(op.named(size))) for shape in op.shape_of.values())


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
    cases = [Case("misaligned" if layout == "misaligned" else "strided", size, layout=layout) for layout in LAYOUTS]
    cases += [Case("grads expanded", size, grads="expanded")]
    cases += [Case("grads strided", size, grads=layout) for layout in LAYOUTS]
    outputs = [output.name for output in op.signature.outputs]
    if len(outputs) > 1:
        cases += [Case("one output", size, used=(name,)) for name in outputs]
    cases = [replace(case, dtype=dtype) for case in cases for dtype in (torch.float64, torch.float32)]
    cases += [Case("large", size, dtype, gain=GAIN) for dtype in (torch.float64, torch.float32)]
    cases += [Case("optional", size, without=(t.name,)) for t in op.signature.tensors if t.type == "Tensor?"]
    return cases


def subset_cases(op: Op, size: Size) -> list[Case]:
    """List the cases in which only some inputs want a gradient: none, each alone, all but one, alternating ones."""
    n = len(op.signature.tensors)
    if n < 2:
        return [Case("subsets", size, wanted=(False,) * n)]
    masks = [tuple(i == k for i in range(n)) for k in range(n)]
    masks += [tuple(i != k for i in range(n)) for k in range(n)] if n > 2 else []
    masks += [tuple(i % 2 == k for i in range(n)) for k in (0, 1)] if n > 3 else []
    cases = [Case("subsets", size, wanted=mask) for mask in (*dict.fromkeys(masks), (False,) * n)]
    outputs = [output.name for output in op.signature.outputs]
    if len(outputs) > 1:
        cases += [Case("subsets", size, wanted=mask, used=(outputs[k % len(outputs)],)) for k, mask in enumerate(masks)]
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

    @cached_property
    def float32_error(self) -> dict[str, float]:
        """How far the reference itself is off when it computes in the case's own dtype, by quantity."""
        outputs, gradients = run_reference(self.op, self.inputs, self.grads, self.used)
        errors = {}
        for name, wide, narrow in zip(
            quantities(self.op), (*self.outputs, *self.gradients), (*outputs, *gradients), strict=True
        ):
            if wide is not None and narrow is not None and wide.numel():
                error = (narrow.to(wide.dtype) - wide).abs().max().item()
                errors[name] = error if math.isfinite(error) else 0.0
        return errors


def quantities(op: Op) -> list[str]:
    """Names of all outputs and gradients: `new_h`, `new_cell`, `d_input`, ..."""
    return [*(output.name for output in op.signature.outputs), *(f"d_{tensor.name}" for tensor in op.signature.tensors)]


def tensor_inputs(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Pick the tensors (or None for an optional one left out) from a set of inputs."""
    return [value for argument, value in zip(op.signature.inputs, inputs, strict=True) if argument.is_tensor]


def differentiable(value: Any) -> bool:
    """True for a tensor that can want a gradient."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def make_inputs(op: Op, case: Case) -> tuple[Any, ...]:
    """Make the inputs of a case, the same ones each time."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr((op.name, case.size)).encode()))

    def randn(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=generator).to(case.dtype)

    inputs = op.make_inputs(randn, case.size)
    if case.view is not None:
        inputs = tuple(
            value.reshape(case.view) if argument.name in op.any_rank and isinstance(value, Tensor) else value
            for argument, value in zip(op.signature.inputs, inputs, strict=True)
        )
    scaled = (value * case.gain if differentiable(value) and case.gain != 1 else value for value in inputs)
    return tuple(
        None if argument.name in case.without else value
        for argument, value in zip(op.signature.inputs, scaled, strict=True)
    )


def make_grads(op: Op, case: Case, outputs: Sequence[Tensor], dtypes: Sequence[torch.dtype]) -> tuple[Tensor, ...]:
    """Make the incoming gradients of a case; expanded ones hold one value each."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr((op.name, case.size, "grads")).encode()))
    grads = []
    for number, (output, dtype) in enumerate(zip(outputs, dtypes, strict=True)):
        if case.grads == "expanded":
            grads.append(torch.full(output.shape, 0.75 + number, dtype=dtype))
        else:
            grads.append(torch.randn(output.shape, dtype=torch.float64, generator=generator).to(dtype))
    return tuple(grads)


def run_reference(
    op: Op, inputs: Sequence[Any], grads: Sequence[Tensor], used: Sequence[bool]
) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Run the reference forward and backward; a gradient is None for an input that cannot have one."""
    leaves = [value.detach().requires_grad_() if differentiable(value) else value for value in inputs]
    outputs = as_tuple(op.reference(*leaves))
    wanted = [leaf for leaf in tensor_inputs(op, leaves) if differentiable(leaf)]
    chosen = [
        (output, grad) for output, grad, use in zip(outputs, grads, used, strict=True) if use and output.requires_grad
    ]
    found: list[Tensor | None] = [None] * len(wanted)
    if chosen and wanted:
        found = list(torch.autograd.grad([o for o, _ in chosen], wanted, [g for _, g in chosen], allow_unused=True))
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
        op.reference,
        op.inputs,
        case.size,
        case.dtype,
        case.grads == "expanded",
        case.used,
        case.gain,
        case.without,
        case.view,
    )
    known = _expected.get(key)
    if known is None:
        while len(_expected) >= _REMEMBERED:
            del _expected[next(iter(_expected))]
        with steps.step("reference", f"{op.name}/python", lambda: (case.describe(op), ())):
            known = _expected[key] = _expect(op, case)
    return known


def _expect(op: Op, case: Case) -> Expected:
    inputs = make_inputs(op, case)
    with torch.no_grad():
        dtypes = tuple(output.dtype for output in as_tuple(op.reference(*inputs)))
        wide = tuple(widen(value) for value in inputs)
        shapes = as_tuple(op.reference(*wide))
    grads = make_grads(op, case, shapes, dtypes)
    used = tuple(not case.used or output.name in case.used for output in op.signature.outputs)
    outputs, gradients = run_reference(op, wide, [widen(grad) for grad in grads], used)
    return Expected(op, inputs, grads, used, outputs, gradients, dtypes)


def widen(value: Any) -> Any:
    """Return a floating or complex tensor in double precision, anything else as it is."""
    return value.to(_WIDE.get(value.dtype, value.dtype)) if isinstance(value, Tensor) else value


def as_tuple(outputs: Any) -> tuple[Any, ...]:
    """A kernel returns one tensor bare, several as a tuple."""
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


def tolerance(op: Op, case: Case) -> Tolerance:
    """How far results may be off: 1e-12 in double precision; in single precision rounding that grows with the sums' length."""
    given = op.tolerances.get(dtype_name(case.dtype))
    if given is not None:
        return Tolerance(*given)
    # Large inputs amplify rounding ahead of a sigmoid or an exponential by their own magnitude, once per factor.
    gain = case.gain**2
    if case.dtype == torch.float64:
        return Tolerance(1e-12 * gain, 1e-12 * gain)
    length = min(max(math.prod(case.size), 1), 4096)
    slack = 16 * torch.finfo(case.dtype).eps * math.sqrt(length) * gain
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
    value = value.to(device)
    if layout == "expanded" and value.numel():
        # Room for all elements, of which only the first is one: a kernel that reads on finds NaN and not foreign memory.
        storage = value.new_full((value.numel() + 64,), filler)
        storage[0] = value.flatten()[0]
        tensor = storage[0].expand(shape)
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
