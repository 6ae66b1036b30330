"""How far a kernel may be off, and what is no mistake although it differs: where there is no one right answer."""

from __future__ import annotations

import math
from collections.abc import Callable
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
        of: the kinds of quantities that it is for, `integer`, `result`, `gradient`.
        mask: which elements it excuses, all, or none, given what is expected, the name of the quantity, and what the kernel gave.
    """

    name: str
    of: tuple[str, ...]
    mask: Callable[[Expected, str, Tensor], Tensor | bool]


def excused(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Return a mask of the elements of a quantity that are right although they differ."""
    real = "gradient" if name.startswith("d_") else "result"
    kind = real if differentiable(expected.wide[name]) else "integer"
    mask = torch.zeros_like(got, dtype=torch.bool)
    for excuse in EXCUSES:
        if kind in excuse.of:
            mask |= excuse.mask(expected, name, got)
    return mask


def _rounds_otherwise(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Compare integers with those of the reference in the case's dtype, and with those at the least change of the inputs."""
    want, others = expected.wide[name], [one[name] for one in expected.apart]
    found, open_ = got == expected.narrow[name], torch.zeros_like(want, dtype=torch.bool)
    for other in others:
        open_ |= other != want
    if open_.sum() <= max(1, _FEW * open_.numel()):  # it is rare, or the least change changes all
        for other in others:
            found |= open_ & (got == other)
    elif expected.case.values and not expected.op.corners:  # the indices of equal ones stand in any order
        found |= open_
    return found


def _jumps(expected: Expected, name: str, got: Tensor) -> Tensor:
    want = expected.wide[name]
    limit = max(_JUMP * want.abs().max().item(), _LEAST_JUMP) if want.numel() else 0.0
    found = torch.zeros_like(want, dtype=torch.bool)
    for other in expected.apart:
        found |= (other[name] - want).abs() > limit
    return found & got.isfinite()


def _in_another_order(expected: Expected, name: str, got: Tensor) -> bool:
    """Excuse a result with the right elements elsewhere, if the reference has them elsewhere at the least change, too."""
    want, near = expected.wide[name], partial(torch.allclose, rtol=_JUMP, atol=_LEAST_JUMP, equal_nan=True)
    if want.is_complex() or not near(*(one.to(want.dtype).flatten().sort().values for one in (got, want))):
        return False
    return not all(near(other[name], want) for other in expected.apart)


def _as_narrow(expected: Expected, name: str, got: Tensor) -> Tensor:
    want, narrow = expected.wide[name], expected.narrow[name]
    return want.isfinite() & ~narrow.isfinite() & ((got == narrow) | (narrow.isnan() & ~got.isfinite()))


def _finite(expected: Expected, name: str, got: Tensor) -> Tensor:
    return expected.wide[name].isfinite() & got.isfinite()


#: Each excuses what no other does.
EXCUSES = (
    Excuse(
        "the reference itself overflows on its way",
        ("integer", "result", "gradient"),
        lambda expected, name, got: expected.overflows,
    ),
    Excuse(
        "an integer, such as the index of the largest, of what is NaN on the reference's way",
        ("integer",),
        lambda expected, name, got: expected.senseless,
    ),
    Excuse("an integer that the least change of the inputs changes, too", ("integer",), _rounds_otherwise),
    Excuse(
        "a gradient where an input is inf or NaN depends on the order of operations",
        ("gradient",),
        lambda expected, name, got: expected.case.values in NOT_FINITE,
    ),
    Excuse(
        "the reference's gradient is not finite for inputs that are",
        ("gradient",),
        lambda expected, name, got: expected.case.values not in ("", *NOT_FINITE) and ~expected.wide[name].isfinite(),
    ),
    Excuse(
        "a gradient that jumps there, such as that of the largest of equal numbers",
        ("gradient",),
        lambda expected, name, got: expected.case.values != "" and _jumps(expected, name, got),
    ),
    Excuse(
        "the reference is NaN for inputs that are finite or -inf: a kernel may do better",
        ("result",),
        lambda expected, name, got: (
            expected.case.values not in ("", "inf", "-inf", "nan") and expected.wide[name].isnan()
        ),
    ),
    Excuse(
        "only finiteness is compared: the digits of a sum of the largest numbers depend on its order",
        ("result", "gradient"),
        lambda expected, name, got: expected.case.values in FINITE_IS_RIGHT and _finite(expected, name, got),
    ),
    Excuse(
        "only finiteness is compared: a gradient at 0 may have several values",
        ("gradient",),
        lambda expected, name, got: expected.case.values in ZEROS and _finite(expected, name, got),
    ),
    Excuse(
        "which ones of equal inputs are chosen is anybody's choice, and so is their order",
        ("result", "gradient"),
        lambda expected, name, got: expected.case.values != "" and _in_another_order(expected, name, got),
    ),
    Excuse("the reference is not finite, either, in the dtype of the case", ("result", "gradient"), _as_narrow),
)
