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


@dataclass(frozen=True)
class Excuse:
    """A reason for which elements that differ are right all the same.

    Attributes:
        name: the reason, for a report.
        holds: whether it applies to a quantity, such as `d_x`, of what is expected.
        mask: which elements it excuses, given what is expected, the quantity, and what the kernel gave.
    """

    name: str
    holds: Callable[[Expected, str], bool]
    mask: Callable[[Expected, str, Tensor], Tensor]


def excused(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Return a mask of the elements of a quantity that are right although they differ."""
    mask = torch.zeros_like(got, dtype=torch.bool)
    for excuse in EXCUSES:
        if excuse.holds(expected, name):
            mask |= excuse.mask(expected, name, got)
    return mask


def _all(expected: Expected, name: str, got: Tensor) -> Tensor:
    return torch.ones_like(got, dtype=torch.bool)


def _is_whole(expected: Expected, name: str) -> bool:
    return not differentiable(expected.wanted(name))


def _is_gradient(expected: Expected, name: str) -> bool:
    return name.startswith("d_") and expected.values != "" and not _is_whole(expected, name)


def _is_result(expected: Expected, name: str) -> bool:
    return not name.startswith("d_") and expected.values != "" and not _is_whole(expected, name)


def _rounds_otherwise(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Compare integers with those of the reference in the case's dtype, and with those at the least change of the inputs."""
    want, others = expected.wanted(name), [one[name] for one in expected.apart]
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
    want = expected.wanted(name)
    limit = max(_JUMP * want.abs().max().item(), _LEAST_JUMP) if want.numel() else 0.0
    found = torch.zeros_like(want, dtype=torch.bool)
    for other in expected.apart:
        found |= (other[name] - want).abs() > limit
    return found & got.isfinite()


def _in_another_order(expected: Expected, name: str, got: Tensor) -> Tensor:
    """Excuse a result with the right elements elsewhere, if the reference has them elsewhere at the least change, too."""
    want = expected.wanted(name)
    one, other = (value.to(want.dtype).flatten().sort().values for value in (got, want))
    near = partial(torch.allclose, rtol=_JUMP, atol=_LEAST_JUMP, equal_nan=True)
    moved = [other[name] for other in expected.apart] if near(one, other) else []
    return torch.full_like(got, not all(near(value, want) for value in moved), dtype=torch.bool)


def _as_narrow(expected: Expected, name: str, got: Tensor) -> Tensor:
    want, narrow = expected.wanted(name), expected.narrow[name]
    same = (got == narrow) | (narrow.isnan() & ~got.isfinite())
    return want.isfinite() & ~narrow.isfinite() & same


#: Each alone excuses what no other does.
EXCUSES = (
    Excuse("the reference itself overflows on its way", lambda expected, name: expected.overflows, _all),
    Excuse(
        "an integer, such as the index of the largest, of what is NaN on the reference's way",
        lambda expected, name: _is_whole(expected, name) and expected.senseless,
        _all,
    ),
    Excuse("an integer that the least change of the inputs changes, too", _is_whole, _rounds_otherwise),
    Excuse(
        "a gradient where an input is inf or NaN depends on the order of operations",
        lambda expected, name: _is_gradient(expected, name) and expected.values in NOT_FINITE,
        _all,
    ),
    Excuse(
        "the reference's gradient is not finite for inputs that are",
        lambda expected, name: _is_gradient(expected, name) and expected.values not in NOT_FINITE,
        lambda expected, name, got: ~expected.wanted(name).isfinite(),
    ),
    Excuse("a gradient that jumps there, such as that of the largest of equal numbers", _is_gradient, _jumps),
    Excuse(
        "the reference is NaN for inputs that are finite or -inf: a kernel may do better",
        lambda expected, name: _is_result(expected, name) and expected.values not in {*NOT_FINITE} - {"-infs"},
        lambda expected, name, got: expected.wanted(name).isnan(),
    ),
    Excuse(
        "only finiteness is compared: the digits of a sum of the largest numbers, and a gradient at 0, depend on the formula",
        lambda expected, name: (
            not _is_whole(expected, name)
            and expected.values in (*FINITE_IS_RIGHT, *FINITE_GRADIENT_IS_RIGHT * name.startswith("d_"))
        ),
        lambda expected, name, got: expected.wanted(name).isfinite() & got.isfinite(),
    ),
    Excuse(
        "which ones of equal inputs are chosen is anybody's choice, and so is their order",
        lambda expected, name: (
            expected.values != "" and not _is_whole(expected, name) and not expected.wanted(name).is_complex()
        ),
        _in_another_order,
    ),
    Excuse(
        "the reference is not finite, either, when it computes in the dtype of the case",
        lambda expected, name: not _is_whole(expected, name) and name in expected.narrow,
        _as_narrow,
    ),
)
