"""How far results may be off."""

from __future__ import annotations

import math

import torch

from ...model.registry import Op
from ..compare import Tolerance, dtype_name
from .case import Case
from .values import VALUES

#: The largest tolerance for large inputs, which amplify rounding. Beyond it the reference's own rounding counts.
_MOST_SLACK = 0.05


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
