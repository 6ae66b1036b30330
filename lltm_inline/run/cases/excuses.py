"""Differences from the reference that are no mistakes: where there is no one right answer to compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ..function import differentiable
from .expectation import Expected
from .values import FINITE_GRADIENT_IS_RIGHT, FINITE_IS_RIGHT, NOT_FINITE

#: By how much, relatively and at least, a gradient changes that is another one.
_JUMP, _LEAST_JUMP = 1e-3, 1e-6
#: Of an integer result, this share may change at the least change of the inputs.
_FEW = 0.02


INTEGER, RESULT, GRADIENT = "integer", "result", "gradient"
_REAL = (RESULT, GRADIENT)


@dataclass(frozen=True)
class Excuse:
    """A reason for which elements that differ are right all the same.

    Attributes:
        name: the reason, for a report.
        of: the kinds of quantities that it is for.
        holds: whether it applies to what is expected.
        mask: which elements it excuses, given what is expected, the name of the quantity, and what the kernel gave.
    """

    name: str
    of: tuple[str, ...]
    holds: Callable[[Expected], bool]
    mask: Callable[[Expected, str, Tensor], Tensor]


def excused(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Return a mask of the elements of a quantity that are right although they differ."""
    real = GRADIENT if name.startswith("d_") else RESULT
    kind = real if differentiable(expected.want(name)) else INTEGER
    mask = torch.zeros_like(got, dtype=torch.bool)
    for excuse in EXCUSES:
        if kind in excuse.of and excuse.holds(expected):
            mask |= excuse.mask(expected, name, got)
    return mask


def _all(expected: Expected, name: str, got: Tensor) -> Tensor:
    return torch.ones_like(got, dtype=torch.bool)


def _finite(expected: Expected, name: str, got: Tensor) -> Tensor:
    return expected.want(name).isfinite() & got.isfinite()


def _rounds_otherwise(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Compare integers with those of the reference in the case's dtype, and with those at the least change of the inputs."""
    want, others = expected.want(name), [one[name] for one in expected.apart]
    found, open_ = got == expected.narrow[name], torch.zeros_like(want, dtype=torch.bool)
    for other in others:
        open_ |= other != want
    if open_.sum() <= max(1, _FEW * open_.numel()):  # it is rare, or the least change changes all
        for other in others:
            found |= open_ & (got == other)
    elif expected.values and not expected.op.corners:  # the indices of equal ones stand in any order
        found |= open_
    return found


def _jumps(expected: Expected, name: str, got: Tensor) -> Tensor:
    want = expected.want(name)
    limit = max(_JUMP * want.abs().max().item(), _LEAST_JUMP) if want.numel() else 0.0
    found = torch.zeros_like(want, dtype=torch.bool)
    for other in expected.apart:
        found |= (other[name] - want).abs() > limit
    return found & got.isfinite()


def _in_another_order(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Excuse a result with the right elements elsewhere, if the reference has them elsewhere at the least change, too."""
    want, moves = expected.want(name), False
    if not want.is_complex():
        one, other = (value.to(want.dtype).flatten().sort().values for value in (got, want))
        near = partial(torch.allclose, rtol=_JUMP, atol=_LEAST_JUMP, equal_nan=True)
        moves = near(one, other) and not all(near(other[name], want) for other in expected.apart)
    return torch.full_like(got, moves, dtype=torch.bool)


def _as_narrow(expected: Expected, name: str, got: Tensor) -> Tensor:
    want, narrow = expected.want(name), expected.narrow[name]
    same = (got == narrow) | (narrow.isnan() & ~got.isfinite())
    return want.isfinite() & ~narrow.isfinite() & same


#: Each excuses what no other does.
EXCUSES = (
    Excuse("the reference itself overflows on its way", (INTEGER, *_REAL), lambda expected: expected.overflows, _all),
    Excuse(
        "an integer, such as the index of the largest, of what is NaN on the reference's way",
        (INTEGER,),
        lambda expected: expected.senseless,
        _all,
    ),
    Excuse(
        "an integer that the least change of the inputs changes, too",
        (INTEGER,),
        lambda expected: True,
        _rounds_otherwise,
    ),
    Excuse(
        "a gradient where an input is inf or NaN depends on the order of operations",
        (GRADIENT,),
        lambda expected: expected.values in NOT_FINITE,
        _all,
    ),
    Excuse(
        "the reference's gradient is not finite for inputs that are",
        (GRADIENT,),
        lambda expected: expected.values not in ("", *NOT_FINITE),
        lambda expected, name, got: ~expected.want(name).isfinite(),
    ),
    Excuse(
        "a gradient that jumps there, such as that of the largest of equal numbers",
        (GRADIENT,),
        lambda expected: expected.values != "",
        _jumps,
    ),
    Excuse(
        "the reference is NaN for inputs that are finite or -inf: a kernel may do better",
        (RESULT,),
        lambda expected: expected.values == "-infs" or expected.values not in ("", *NOT_FINITE),
        lambda expected, name, got: expected.want(name).isnan(),
    ),
    Excuse(
        "only finiteness is compared: the digits of a sum of the largest numbers depend on its order",
        _REAL,
        lambda expected: expected.values in FINITE_IS_RIGHT,
        _finite,
    ),
    Excuse(
        "only finiteness is compared: a gradient at 0 may have several values",
        (GRADIENT,),
        lambda expected: expected.values in FINITE_GRADIENT_IS_RIGHT,
        _finite,
    ),
    Excuse(
        "which ones of equal inputs are chosen is anybody's choice, and so is their order",
        _REAL,
        lambda expected: expected.values != "",
        _in_another_order,
    ),
    Excuse(
        "the reference is not finite, either, when it computes in the dtype of the case",
        _REAL,
        lambda expected: True,
        _as_narrow,
    ),
)
