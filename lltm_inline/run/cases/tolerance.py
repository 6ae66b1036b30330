"""How far a kernel may be off, and what is no mistake although it differs: where there is no one right answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ...model.registry import Op
from ..compare import Tolerance, dtype_name
from ..function import differentiable
from .case import Case
from .expectation import Expected
from .values import FINITE_IS_RIGHT, NOT_FINITE, VALUES, ZEROS

#: The largest tolerance for large inputs, which amplify rounding. Beyond it the reference's own rounding counts.
_MOST_SLACK = 0.05
#: Longer sums are not allowed more.
_MOST_TERMS = 4096
#: By how much, relatively and at least, a gradient changes that is another one.
_JUMP, _LEAST_JUMP = 1e-3, 1e-6
#: Of an integer result, this share may change at the least change of the inputs.
_FEW = 0.02
_WHOLE, _RESULT, _GRADIENT = frozenset({"integer"}), frozenset({"result"}), frozenset({"gradient"})
_REAL = _RESULT | _GRADIENT
_ANY = _WHOLE | _REAL


def slack(dtype: torch.dtype, terms: int = _MOST_TERMS) -> float:
    """Return how far a result of ordinary numbers may be off: 1e-12 in double precision, in lower precision some roundings.

    Args:
        dtype: of the inputs; real numbers that are computed from integers are in single precision.
        terms: length of the longest sum; rounding in single precision grows with it.

    Example:
        >>> slack(torch.float16), slack(torch.float32) == 2**-13
        (0.00390625, True)
    """
    if dtype == torch.float64:
        return 1e-12
    if dtype in (torch.float16, torch.bfloat16):  # sums are kept in single precision: only a few results are rounded
        return 4 * torch.finfo(dtype).eps
    return 16 * torch.finfo(torch.float32).eps * math.sqrt(min(max(terms, 1), _MOST_TERMS))


def tolerance(op: Op, case: Case) -> Tolerance:
    """Return the op's own tolerance for the dtype of a case; otherwise `slack`, more of it for larger inputs."""
    given = op.tolerances.get(dtype_name(case.dtype))
    if given is not None:
        return Tolerance(*given)
    # Large inputs amplify rounding before a sigmoid or an exponential by their own magnitude, once per factor.
    gain = (case.gain * (VALUES[case.values].magnitude if case.values else 1)) ** 2
    limit = min(slack(case.dtype, math.prod(case.size)) * gain, _MOST_SLACK)
    return Tolerance(limit, limit)


@dataclass(frozen=True)
class Excuse:
    """A reason for which elements that differ are right all the same.

    Attributes:
        name: the reason, for a report.
        of: the kinds of quantities that it is for.
        mask: which elements it excuses, or whether all, given what is expected, the quantity's name, and what the kernel gave.
    """

    name: str
    of: Set[str]
    mask: Callable[[Expected, str, Tensor], Tensor | bool]


def excused(known: Expected, name: str, got: Tensor) -> Tensor:
    """Return a mask of the elements of a quantity that are right although they differ."""
    real = _GRADIENT if name.startswith("d_") else _RESULT
    kind = real if differentiable(known.wide[name]) else _WHOLE
    mask = torch.zeros_like(got, dtype=torch.bool)
    for excuse in EXCUSES:
        if kind <= excuse.of:
            mask |= excuse.mask(known, name, got)
    return mask


def rarely_by_one(got: Tensor, want: Tensor) -> Tensor:
    """Excuse a byte that is rounded the other way: it is off by one, in one element of a thousand at most.

    Example:
        >>> want = torch.arange(2000).to(torch.uint8)
        >>> [int(rarely_by_one(want + (torch.arange(2000) < n).to(torch.uint8), want).sum()) for n in (1, 2, 3)]
        [1, 2, 0]
    """
    off = (got.to(torch.int64) - want.to(torch.int64)).abs() == 1
    return off & (want.dtype == torch.uint8 and int(off.sum()) * 1000 <= off.numel())


def _rounds_otherwise(known: Expected, name: str, got: Tensor) -> Tensor:
    """Compare integers with those of the reference in the case's dtype, and with those at the least change of the inputs."""
    others = torch.stack([one[name] for one in known.apart])
    found, open_ = got == known.narrow[name], (others != known.wide[name]).any(0)
    found |= rarely_by_one(got, known.narrow[name])
    if open_.sum() <= max(1, _FEW * open_.numel()):  # it is rare, or the least change changes all
        found |= open_ & (others == got).any(0)
    elif known.case.has_ties and not known.op.corners:  # the indices of equal ones stand in any order
        found |= open_
    return found


def _jumps(known: Expected, name: str, got: Tensor) -> Tensor | bool:
    if not known.case.has_ties:
        return False
    want = known.wide[name]
    limit = max(_JUMP * want.abs().max().item(), _LEAST_JUMP) if want.numel() else 0.0
    others = torch.stack([one[name] for one in known.apart])
    return ((others - want).abs() > limit).any(0) & got.isfinite()


def _in_another_order(known: Expected, name: str, got: Tensor) -> bool:
    """Excuse a result with the right elements elsewhere, if the reference has them elsewhere at the least change, too."""
    want, near = known.wide[name], partial(torch.allclose, rtol=_JUMP, atol=_LEAST_JUMP, equal_nan=True)
    if not known.case.has_ties or want.is_complex():
        return False
    is_moved = near(*(one.to(want.dtype).flatten().sort().values for one in (got, want)))
    return is_moved and not all(near(other[name], want) for other in known.apart)


def _as_narrow(known: Expected, name: str, got: Tensor) -> Tensor:
    want, narrow = known.wide[name], known.narrow[name]
    return want.isfinite() & ~narrow.isfinite() & ((got == narrow) | (narrow.isnan() & ~got.isfinite()))


def _are_finite(known: Expected, name: str, got: Tensor) -> Tensor:
    return known.wide[name].isfinite() & got.isfinite()


#: Each excuses what no other does.
EXCUSES = (
    Excuse("the reference itself overflows on its way", _ANY, lambda known, *_: known.overflows),
    Excuse(
        "an integer, such as an index, of what is NaN on the reference's way", _WHOLE, lambda known, *_: known.senseless
    ),
    Excuse("an integer that the least change of the inputs changes, too", _WHOLE, _rounds_otherwise),
    Excuse(
        "a gradient where an input is inf or NaN depends on the order of operations",
        _GRADIENT,
        lambda known, *_: known.case.values in NOT_FINITE,
    ),
    Excuse(
        "the reference's gradient is not finite for inputs that are",
        _GRADIENT,
        lambda known, name, got: known.case.values not in ("", *NOT_FINITE) and ~known.wide[name].isfinite(),
    ),
    Excuse("a gradient that jumps there, such as that of the largest of equal numbers", _GRADIENT, _jumps),
    Excuse(
        "the reference is NaN for inputs that are finite or -inf: a kernel may do better",
        _RESULT,
        lambda known, name, got: known.case.values not in ("", "inf", "-inf", "nan") and known.wide[name].isnan(),
    ),
    Excuse(
        "only finiteness is compared: the digits of a sum of the largest numbers depend on its order",
        _REAL,
        lambda known, name, got: known.case.values in FINITE_IS_RIGHT and _are_finite(known, name, got),
    ),
    Excuse(
        "only finiteness is compared: a gradient at 0 may have several values",
        _GRADIENT,
        lambda known, name, got: known.case.values in ZEROS and _are_finite(known, name, got),
    ),
    Excuse("which ones of equal inputs are chosen, and in which order, is anybody's choice", _REAL, _in_another_order),
    Excuse("the reference is not finite, either, in the dtype of the case", _REAL, _as_narrow),
)
