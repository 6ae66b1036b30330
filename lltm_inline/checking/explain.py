"""Turns mismatches into findings: the smallest size at which it fails, and what sets the failing cases apart."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import torch
from torch import Tensor

from ..base.device import DEVICES
from ..cpp.masks import mask
from ..diagnosis.source_text import position
from ..model.registry import Kernel
from ..run.cases.case import DEVIATIONS, VIEW, Case, Evidence, Size, called, edge_axis, with_extent
from ..run.cases.expectation import expect
from ..run.cases.layouts import place
from ..run.cases.values import LOSE_DIGITS
from ..run.compare import Mismatch, hints
from ..run.function import differentiable
from ..source.signature import own_text
from .perturb import by_values, measured
from .report import FOLLOWS, NO_BACKWARD, Finding, Grid
from .runner import RAISES, STRUCTURAL, CaseResult, Runner

#: Extents tried, smallest first, when the smallest failing size is looked for.
SMALLER = (*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 128)
_WRONG_DTYPE = re.compile(r"expected scalar type (\w+) but found (\w+)")
_DTYPES = {"Float": torch.float32, "Double": torch.float64}
#: How a text may write the dtype that torch calls so.
_WRITTEN = {
    "Byte": ("uint8_t",),
    "Char": ("int8_t",),
    "Short": ("int16_t", "short"),
    "Int": ("int32_t", "int"),
    "Long": ("int64_t", "long"),
    "Half": ("at::Half", "c10::Half"),
    "BFloat16": ("at::BFloat16", "c10::BFloat16"),
    "Float": ("float",),
    "Double": ("double",),
    "Bool": ("bool",),
}
#: A tensor of which a text takes a pointer or an accessor, and the dtype that it names.
_TAKEN = re.compile(
    r"\b(\w+)\s*\.\s*((?:const_|mutable_)?data_ptr|(?:packed_)?accessor\w*)\s*<\s*((?:at::|c10::)?\w+)\b"
)
#: A tensor by which a text chooses its dtype, and one that is made like another.
_DISPATCHED = re.compile(r"\bAT_DISPATCH_\w+\s*\(\s*(\w+)\s*\.\s*(?:scalar_type|dtype|type)\b")
_LIKE = re.compile(r"\b(\w+)\s*=[^;=]*?\b(?:\w+_like\s*\(\s*(\w+)|(\w+)\s*\.\s*(?:contiguous|clone|options)\s*\()")
#: So many wrong elements that have one ratio have it by no chance.
_SEVERAL = 3
#: Of a grid, down and across.
_MOST_CELLS = 32
#: A tensor of one axis that is no longer lies in one row.
_MOST_OF_A_ROW = 16
_WIDTHS = (2, 4, 8, 16, 32, 64)


def findings_of(runner: Runner, cases: Sequence[Case], structural: bool) -> list[Finding]:
    """Make one finding for each quantity that is wrong in any of the cases, from the first case that shows it.

    Args:
        runner: which ran the cases.
        cases: in the order of telling, plain ones first.
        structural: whether to report wrong counts, shapes and dtypes, or wrong values.
    """
    first: dict[str, Case] = {}
    for case in cases:
        for quantity, mismatch in runner.run(case).wrong.items():
            if (mismatch.cell in STRUCTURAL) == structural:
                first.setdefault(quantity, case)
    order = ["forward", *runner.outputs, "backward", *runner.gradients]
    section = "interface" if structural else "parity"
    found = [explain(runner, cases, section, quantity, first[quantity]) for quantity in order if quantity in first]
    # Outputs first, since wrong gradients follow from them; then what has a pattern, which is nearer to the cause.
    return sorted(found, key=lambda one: (one.quantity in runner.gradients, one.only_follows or not one.hints))


def explain(runner: Runner, cases: Sequence[Case], section: str, quantity: str, case: Case) -> Finding:
    """Make the finding for one quantity that is wrong in `case`."""
    case = _plainest(runner, quantity, case)
    mismatch = runner.run(case).wrong[quantity]
    race = _race(runner, quantity, case)
    # What an error looks like is told of ordinary numbers: others are there for the digits that they lose in any precision.
    # And of the example's numbers: with others what is small there may be large.
    patterns = (
        []
        if case.values in LOSE_DIGITS or case.numbers
        else hints(mismatch, expect(runner.op, case).wide, runner.run(case).wrong)
    )
    outputs = [name for name in runner.outputs if name in runner.run(case).wrong]
    follows = quantity in runner.gradients and mismatch.wrong is not None and bool(outputs)
    patterns = [one for one in patterns if not one.startswith("got is ") or _holds(runner, cases, quantity, case)]
    why = [] if race or follows or mismatch.wrong is None else measured(runner, quantity, case)
    limits = by_values(runner, quantity, case) if case.plain and not (race or follows) else []
    found = [*why, *limits, *(race or patterns), *_of_text(runner, mismatch, case)]
    smallest = smallest_size(runner, quantity, case)
    if follows:
        found = found or [FOLLOWS.format(" and ".join(outputs))]
    elif not limits and (not race or set(case.size) != {1}):  # how many threads there were, and neither size nor dtype
        found += (
            _where(runner, cases, quantity, case, smallest) if case.plain else _unlike_plain(runner, quantity, case)
        )
    finding = runner.finding(section, quantity, mismatch.text, case, *found, smallest=smallest)
    return replace(finding, grid=_picture(runner, mismatch))


def _holds(runner: Runner, cases: Sequence[Case], quantity: str, case: Case) -> bool:
    """Tell whether got and want differ by one number or factor in another plain case, too, if any other is wrong."""
    for other in cases:
        wrong = runner.run(other).wrong.get(quantity)
        if wrong is None or wrong.wrong is None or not other.plain or other.size == case.size:
            continue
        if int(wrong.wrong.sum()) >= _SEVERAL:
            found = hints(wrong, expect(runner.op, other).wide, runner.run(other).wrong)
            return any(one.startswith("got is ") for one in found)
    return True


def _plainest(runner: Runner, quantity: str, case: Case) -> Case:
    """Leave out of a case that differs in many ways what it is wrong without."""
    for one in case.laid:
        fewer = replace(case, laid=tuple(other for other in case.laid if other != one))
        case = fewer if fails(runner, quantity, fewer) else case
    for fewer in (replace(case, mode=""), replace(case, values="", only="")) if case.laid or case.mode else ():
        case = fewer if fails(runner, quantity, fewer) else case
    return case


def _picture(runner: Runner, mismatch: Mismatch) -> Grid | None:
    """Draw where a quantity is wrong; what has one axis block by block, where the text says how many threads a block has."""
    if mismatch.wrong is None:
        return None
    threads = runner.kernel.params.get("THREADS", 0) if DEVICES[runner.device].text == "cuda" else 0
    return grid_of(mismatch.wrong, int(threads))


def grid_of(wrong: Tensor, width: int = 0) -> Grid | None:
    """Draw which elements are wrong; None where that is one element, or all of them, or none.

    Args:
        wrong: True for those.
        width: how many elements of a tensor of one axis stand beside each other, such as the threads of a block; 0 for what
            makes about as many rows as columns.

    Example:
        >>> wrong = torch.zeros(2, 64, dtype=torch.bool)
        >>> wrong[0, :5] = True
        >>> [row[:4] for row in grid_of(wrong).cells]
        ['##5.', '....']
    """
    count = wrong.numel()
    if count < 2 or wrong.all() or not wrong.any():
        return None
    across = wrong.shape[-1]
    if wrong.dim() == 1:
        # A power of two: what goes wrong in vectors stands in columns. What is short is a row.
        across = min(count, width or max(_MOST_OF_A_ROW, 1 << math.ceil(math.log2(count) / 2)))
    rows = -(-count // across)
    shares, counts = (
        torch.nn.functional.pad(each.flatten().double(), (0, rows * across - count)).reshape(rows, across)
        for each in (wrong, torch.ones_like(wrong))
    )
    for axis in (0, 1):
        shares, counts = (_binned(each, axis) for each in (shares, counts))
    words = tuple(
        "".join(_letter(*pair) for pair in zip(*row, strict=True))
        for row in zip(shares.tolist(), counts.tolist(), strict=True)
    )
    names = (("block", "thread") if width else ("piece", "element")) if wrong.dim() == 1 else ()
    return Grid(rows, across, words, *names)


def _binned(values: Tensor, axis: int) -> Tensor:
    """Add up neighbours, so that at most `_MOST_CELLS` are left."""
    length = values.shape[axis]
    step = -(-length // _MOST_CELLS)
    bins = torch.arange(length) // step
    shape = list(values.shape)
    shape[axis] = -(-length // step)
    return torch.zeros(shape, dtype=values.dtype).index_add_(axis, bins, values)


def _letter(wrong: float, count: float) -> str:
    """Name the share of a cell; one wrong element of a thousand is a tenth, too."""
    return "." if not wrong else "#" if wrong == count else str(min(9, max(1, round(10 * wrong / count))))


def _race(runner: Runner, quantity: str, case: Case) -> list[str]:
    """Tell what several threads do to each other from what one does alone."""
    if runner.threads_for(case) == 1 or quantity in runner.run_again(case, alone=True).wrong:
        return []
    if set(case.size) == {1}:
        return ["right on one thread, wrong on several: with fewer elements than threads, the share of a thread is 0"]
    return [
        "right on one thread, wrong on several: two threads write the same element, or one reads what another has not "
        "written yet"
    ]


def fails(runner: Runner, quantity: str, case: Case) -> Mismatch | None:
    """Return what is wrong with the quantity in this case, or None."""
    return runner.run(case).wrong.get(quantity)


def is_right(runner: Runner, quantity: str, case: Case) -> bool:
    """Tell whether a quantity was looked at in this case and right; a call (`forward`) is right if all that it gave is."""
    result = runner.run(case)
    if quantity in ("forward", "backward"):
        return not (result.wrong or result.skipped)
    return quantity in result.seen and quantity not in result.wrong


def _may_be_right(runner: Runner, quantity: str, case: Case) -> bool:
    """Tell whether nothing speaks against a quantity in this case: it is right, not asked for, or refused by the reference."""
    result = runner.run(case)
    return result.refused if result.skipped else is_right(runner, quantity, case) or not result.wrong


def smallest_size(runner: Runner, quantity: str, case: Case) -> Size:
    """Shrink each extent as far as the quantity stays wrong, twice over; one that is large to where it begins to be wrong."""
    size = case.size
    if case.view is not None:  # the shape is what matters
        return size
    if runner.exhausted and runner.untried(case) and quantity in ("forward", "backward"):
        return runner.exhausted[-1].size  # others would take as long as this one
    for _ in range(2):
        for axis in range(len(size)):
            for extent in SMALLER:
                if extent >= size[axis]:
                    break
                smaller = with_extent(size, axis, extent)
                if runner.op.allows(smaller) and fails(runner, quantity, replace(case, size=smaller)):
                    size = smaller
                    break
            else:
                size = _least(runner, quantity, replace(case, size=size), axis)
    return size


def _least(runner: Runner, quantity: str, case: Case, axis: int) -> Size:
    """Halve the way from the largest extent of `SMALLER`, which is right, to that of the case, until two neighbours differ."""
    right, wrong = SMALLER[-1], case.size[axis]
    while wrong - right > 1:
        middle = with_extent(case.size, axis, (right + wrong) // 2)
        if not runner.op.allows(middle):
            break
        if fails(runner, quantity, replace(case, size=middle)):
            wrong = middle[axis]
        else:
            right = middle[axis]
    return with_extent(case.size, axis, wrong)


def _of_text(runner: Runner, mismatch: Mismatch, case: Case) -> list[str]:
    """Say what the kernel's own text lacks, where a message or a missing gradient tells."""
    if mismatch.cell == RAISES:
        return _one_dtype(runner, mismatch, case) or _where_it_is_said(runner, mismatch.sentence)
    if mismatch.cell == "missing" and mismatch.quantity in runner.gradients and lacks_backward(runner, case):
        return [NO_BACKWARD]
    return []


def _one_dtype(runner: Runner, mismatch: Mismatch, case: Case) -> list[str]:
    """Explain PyTorch's complaint when a text takes pointers to one dtype and is given another."""
    said = _WRONG_DTYPE.search(mismatch.sentence)
    kernel = runner.kernel
    places = [*_taken(kernel, said[1])] if said else []
    if said is None or not places:
        return []
    written = _WRITTEN[said[1]][0]
    if inside := _inside(kernel, said[1]):
        return [f"{inside[0]}, and its dtype is what the text dispatches over: write scalar_t for {written} there"]
    if kernel.api == "stable" or {said[1], said[2]} != {*_DTYPES} or _DTYPES[said[2]] != case.dtype:
        given = _WRITTEN.get(said[2], (said[2],))[0]
        return [f"{' or '.join(dict.fromkeys(place for place, _ in places))}, and it is given {given}"]
    pairs = zip(runner.op.signature.inputs, expect(runner.op, case).inputs, strict=True)
    first = next(argument.name for argument, value in pairs if differentiable(value))
    if mismatch.quantity == "backward":
        first = f"d_{runner.outputs[0]}"
    return [
        f"the text is written for {written}, and must compute in float and in double: wrap the loop in "
        f'AT_DISPATCH_FLOATING_TYPES({first}.scalar_type(), "{runner.op.name}", [&] {{ ... }}), and write scalar_t for '
        f"{written} in it"
    ]


def _where_it_is_said(runner: Runner, said: str) -> list[str]:
    """Name the line of a text in which the words stand that a call raised with: the longest of them."""
    found = [(len(words), line) for words, line in runner.own_words(said)]
    return [f"line {max(found)[1]} of the text raises it"] if found else []


def _taken(kernel: Kernel, written: str) -> Iterator[tuple[str, str]]:
    """Find where a text takes a pointer to what torch calls so, or an accessor of it: place and words, and the tensor of which it does."""
    for text in kernel.sources.values():
        for found in _TAKEN.finditer(mask(text)):
            if found[3] in _WRITTEN.get(written, ()):
                yield f"line {position(text, found.start())[0]} takes {found[1]}.{found[2]}<{found[3]}>", found[1]


def _dispatched(kernel: Kernel) -> set[str]:
    """List the tensors of whose dtype a text says that it takes several: it dispatches over it, or they are made like one such."""
    code = "\n".join(mask(text) for text in kernel.sources.values())
    names = {found[1] for found in _DISPATCHED.finditer(code)}
    made = [(found[1], found[2] or found[3]) for found in _LIKE.finditer(code)]
    for name, model in [*made, *reversed(made)]:  # x_c = x.contiguous() stands before the one that is dispatched over
        names |= {name, model} if {name, model} & names else set()
    return names


def _inside(kernel: Kernel, written: str) -> list[str]:
    """List where a text takes a pointer to one dtype of what it dispatches over."""
    several = _dispatched(kernel)
    return [place for place, name in _taken(kernel, written) if name in several]


def refuses_what_it_declares(kernel: Kernel, said: str) -> bool:
    """Tell whether a dtype is refused by a pointer of a tensor over whose dtype the text dispatches: it has said that it takes it.

    Args:
        kernel: whose text it is.
        said: how the call was refused.
    """
    found = _WRONG_DTYPE.search(said)
    return found is not None and bool(_inside(kernel, found[1]))


def lacks_backward(runner: Runner, case: Case) -> bool:
    """Tell whether the text defines no backward and what its forward returns is not attached to autograd."""
    interface = runner.function.interface
    if interface is None or interface.has_backward:
        return False
    result = CaseResult()
    call = runner.begin(case, result)
    return call is not None and runner.forward(call, result) and not any(o.requires_grad for o in call.outputs)


def _where(runner: Runner, cases: Sequence[Case], quantity: str, case: Case, smallest: Size) -> list[str]:
    """Say which sizes or which dtype fail, where a simple rule tells the failing from the right ones."""
    found = []
    plain = [c for c in cases if c.plain and not runner.run(c).skipped]
    others = [c for c in plain if c.dtype != case.dtype]
    if (
        others
        and all(_may_be_right(runner, quantity, c) for c in cases if c.dtype != case.dtype)
        and is_right(runner, quantity, replace(case, dtype=others[0].dtype))
    ):
        found.append(f"only in {called(runner.op, case.dtype)}; {called(runner.op, others[0].dtype)} is right")
    below = [with_extent(smallest, axis, n - 1) for axis, n in enumerate(smallest) if n > SMALLER[-1]]
    sizes = [smallest, *filter(runner.op.allows, below)]
    known = [*(c for c in plain if c.dtype == case.dtype), *(replace(case, size=size) for size in sizes)]
    rule = _size_rule(runner, quantity, case, known)
    return [*found, *([rule] if rule else [])]


def _size_rule(runner: Runner, quantity: str, case: Case, plain: list[Case]) -> str:
    bad = [c.size for c in plain if fails(runner, quantity, c)]
    good = [c.size for c in plain if is_right(runner, quantity, c)]
    if not all(0 in size for size in bad):  # what has no elements is right by itself
        bad, good = ([size for size in sizes if 0 not in size] for sizes in (bad, good))
    if not good:
        return ""
    for axis, letter in enumerate(runner.op.letters):
        wrong, right = {size[axis] for size in bad}, {size[axis] for size in good}
        if wrong & right:
            continue
        if len(wrong) == 1 and wrong <= {0, 1}:
            return f"only where {letter} = {wrong.pop()}"
        if axis == edge_axis(runner.op, case.size):
            # Powers of two tell a vector's width from a mere threshold.
            probes = [replace(case, size=with_extent(case.size, axis, width)) for width in _WIDTHS]
            wrong |= {probe.size[axis] for probe in probes if fails(runner, quantity, probe)}
            right |= {probe.size[axis] for probe in probes if is_right(runner, quantity, probe)}
        for width in _WIDTHS:
            if all(n % width for n in wrong) and not any(n % width for n in right):
                given = zip(runner.op.signature.inputs, expect(runner.op, case).inputs, strict=True)
                own = next((argument.name for argument, one in given if type(one) is int and one == width), "")
                left = "" if own else ": look at what is left over after whole vectors or blocks"
                return f"only where {letter} is not a multiple of {f'{own} = {width}' if own else width}{left}"
        if min(wrong) > max(right):
            edge, said = max(right), f"wrong where {letter} >= {min(wrong)}; right for {letter} <= {max(right)}"
        elif max(wrong) < min(right):
            edge, said = min(right), f"wrong where {letter} <= {max(wrong)}; right for {letter} >= {min(right)}"
        else:
            continue
        # By itself this extent makes the difference, or it only goes with another one that does.
        alone = replace(case, size=with_extent(min(bad, key=math.prod), axis, edge))
        if runner.op.allows(alone.size) and is_right(runner, quantity, alone):
            return said
    return ""


def _is_contiguous(runner: Runner, case: Case) -> bool:
    """Tell whether all inputs are contiguous in the layout of a case: of one row or column the stride tells nothing."""
    named = zip(runner.op.signature.inputs, expect(runner.op, case).inputs, strict=True)
    laid = [
        place(value, case.layout_of(argument.name), "cpu").tensor
        for argument, value in named
        if isinstance(value, Tensor)
    ]
    return all(one.is_contiguous() for one in laid)


def _are_unused(runner: Runner, case: Case) -> bool:
    """Tell whether the text names the numbers of a case once each, as its parameters, and does not use them."""
    texts = "\n".join(mask(own_text(text)) for text in runner.kernel.sources.values())
    return all(len(re.findall(rf"\b{name}\b", texts)) < 2 for name, _ in case.numbers)


def _unlike_plain(runner: Runner, quantity: str, case: Case) -> list[str]:
    """Say what in this case makes the difference, given that the plain case of its size is right."""
    # The shape of tensors that may have any goes with a size: it is the reason only where a case differs in nothing else.
    ways = [one for one in DEVIATIONS if one.holds(case) and one is not VIEW] or [VIEW]
    plain = reduce(lambda left, one: one.without(left), ways, replace(case, group=""))
    if not is_right(runner, quantity, plain):
        return []
    found = _is_contiguous(runner, case), _are_unused(runner, case)
    seen = Evidence(runner.op, quantity, lambda other: fails(runner, quantity, other) is not None, *found)
    return [said for one in ways if (said := one.advice(case, seen))][:1]
