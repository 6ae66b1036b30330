"""Cases that are tried only where the reference has an answer: other numbers, and integers beyond 32 bits."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ...model.registry import Op
from ..function import differentiable
from .case import Case
from .drawing import make_inputs, seeded
from .expectation import Expected, as_finite, expect
from .reference import leaves_of
from .sizes import Size, dtypes_of, prime_size
from .values import INTEGERS, VALUES, WIDE, takes

#: A reference that takes so many seconds is not called for other values of its numbers; a number below this is an epsilon.
_DEAR, _NO_ACCOUNT = 1.0, 0.05


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
