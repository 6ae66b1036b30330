"""The ratio of two kernels' times, with an interval that needs no assumption about the noise.

Round by round every kernel gives one sample, so each round yields one ratio in which slow drifts (frequency,
temperature, neighbours) cancel. Of these ratios we take the median; its confidence interval lies between two order
statistics: the true median is below the k-th smallest of n only if fewer than k of n fair coins fall heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

#: Confidence of every interval. A table has dozens of them, and at 0.95 one in twenty would be wrong.
CONFIDENCE = 0.99

#: Fewest rounds from which an interval of this confidence follows: 8 for 0.99.
FEWEST = math.ceil(math.log2(2 / (1 - CONFIDENCE)))


@lru_cache(maxsize=4096)
def rank(n: int) -> int:
    """Return k such that the k-th smallest and k-th largest of n samples enclose the median; 0 if none do.

    Source: the binomial (sign test) interval, Conover, Practical Nonparametric Statistics, section 3.2.

    Example:
        >>> rank(7), rank(8), rank(100)
        (0, 1, 37)
    """
    allowed = (1 - CONFIDENCE) / 2 * 2**n if n < 1000 else int((1 - CONFIDENCE) / 2 * 2**52) << (n - 52)
    below, k = 0, 0
    while True:
        below += math.comb(n, k)
        if below > allowed:
            return k
        k += 1


def ratio(baseline: Sequence[float], kernel: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Estimate how many times faster the kernel is than the baseline, from paired rounds.

    Args:
        baseline: one time a round.
        kernel: the other kernel's times in the same rounds.

    Returns:
        The median ratio and its 99 % confidence interval, (None, None) with fewer than 8 rounds.

    Example:
        >>> ratio([2.0] * 9, [1.0, 1.0, 1.0, 0.8, 1.0, 1.0, 1.0, 1.0, 1.25])
        (2.0, 1.6, 2.5)
    """
    ratios = sorted(one / other for one, other in zip(baseline, kernel, strict=True))
    k = rank(len(ratios))
    middle = quartiles(ratios)[1]
    return (middle, ratios[k - 1], ratios[-k]) if k else (middle, None, None)


def quartiles(numbers: Iterable[float]) -> tuple[float, float, float]:
    """Return the lower quartile, median and upper quartile, interpolated between neighbours.

    Example:
        >>> quartiles([4, 1, 3, 2, 5])
        (2.0, 3.0, 4.0)
    """
    ordered = sorted(numbers)
    places = [(len(ordered) - 1) * share for share in (0.25, 0.5, 0.75)]
    low, middle, high = (
        ordered[int(at)] + (at - int(at)) * (ordered[min(int(at) + 1, len(ordered) - 1)] - ordered[int(at)])
        for at in places
    )
    return float(low), float(middle), float(high)


def is_clear(speedup: float, low: float | None, high: float | None) -> bool:
    """Say whether more rounds would not change the words: the interval is narrow, in itself or beside the effect.

    The rule looks at the width only, never at whether 1 is inside: stopping as soon as 1 is outside would find
    differences where there are none.
    """
    if not low or not high:
        return False
    return math.log(high / low) <= max(0.02, 0.2 * abs(math.log(speedup)))
