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
#: Longer sums are not allowed more.
_MOST_TERMS = 4096


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
