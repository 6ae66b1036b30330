"""Numbers and findings of a benchmark in words, for tables, plots, the panel and verdicts alike.

`finding` is the one rule by which a speed-up is judged. Its interval is written with both ends rounded outwards, so that
"no measurable difference" is said of those intervals, and only of those, that hold 1 as they are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

#: Intervals that reach nearer to 1 than this are no finding: code placement alone moves timings as much.
NOISE_FLOOR = 1.01
#: Intervals that hold 1 and reach farther from it than this leave room for a difference that matters.
TOO_WIDE = 1.2
#: Of an interval whose end is this many times its beginning, no factor is said: which way it goes, and not how much.
FACTOR_TOLD = 4.0
#: From so many processors on at which other programs work, what is measured meanwhile is in doubt.
CROWD = 0.25
#: Shares of a machine's speed of copying beyond this are no noise: the copy does not stay in the cache.
BEYOND_MEMORY = 1.1

#: The size of an op all extents of which are numbers.
ONLY = "its only size"

_UNITS = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))


def size_text(size: Mapping[str, int]) -> str:
    """Write a size as a reader wants it.

    Example:
        >>> size_text({"B": 16, "F": 32})
        'B=16 F=32'
    """
    return " ".join(f"{letter}={number}" for letter, number in size.items()) or ONLY


def time_text(seconds: float) -> str:
    """Write a time with three digits and the unit that suits it.

    Example:
        >>> time_text(3.7251e-5), time_text(0.0208), time_text(12.0)
        ('37.3 µs', '20.8 ms', '12.0 s')
    """
    unit, name = _unit(seconds)
    return f"{three(seconds / unit)} {name}"


def spread_text(middle: float, low: float, high: float) -> str:
    """Write a time and its quartiles in one unit.

    Example:
        >>> spread_text(1.02e-3, 0.998e-3, 1.06e-3)
        '1.02 ms (1.00-1.06)'
    """
    unit, name = _unit(middle)
    return f"{three(middle / unit)} {name} ({three(low / unit)}-{three(high / unit)})"


def three(number: float) -> str:
    """Write a number with three digits, four if it has them before the point.

    Example:
        >>> three(0.994), three(1.3), three(12.34), three(1234.5)
        ('0.99', '1.30', '12.3', '1234')
    """
    return f"{number:.{_places(number)}f}"


def interval_text(low: float, high: float) -> str:
    """Write an interval so that it holds the one that was measured: both ends rounded outwards.

    Example:
        >>> interval_text(1.0099, 1.231), interval_text(1.27, 1.35)
        ('1.00-1.24', '1.27-1.35')
    """
    # What is a round number but for the last bits stays one.
    steps = [10.0 ** _places(end) for end in (low, high)]
    ends = math.floor(low * steps[0] + 1e-6) / steps[0], math.ceil(high * steps[1] - 1e-6) / steps[1]
    return "-".join(map(three, ends))


def bytes_text(count: float) -> str:
    """Write a number of bytes with three digits, in MiB, or in KiB below a tenth of one.

    Example:
        >>> bytes_text(400), bytes_text(3_500_000), bytes_text(2**31)
        ('0.39 KiB', '3.34 MiB', '2048 MiB')
    """
    return f"{three(count / 2**20)} MiB" if abs(count) >= 2**20 / 10 else f"{three(count / 2**10)} KiB"


def percent(share: float) -> str:
    """Write a share; what is there, but less than half a percent, is not nothing.

    Example:
        >>> percent(0.436), percent(0.004), percent(0.0)
        ('44%', '<1%', '0%')
    """
    said = f"{share:.0%}"
    return "<1%" if said == "0%" and share > 0 else said


def share_text(share: float | None, bound_by: str) -> str:
    """Write which share of a machine's own speed was reached, and how it can be more than all.

    Example:
        >>> share_text(0.33, "copy"), share_text(4.36, "copy"), share_text(1.31, "GEMM"), share_text(None, "")
        ('33% of copy', '436% of copy, in the cache', '131% of GEMM, measured too low', '')
    """
    if share is None:
        return ""
    beyond = ", in the cache" if bound_by == "copy" else ", measured too low"
    return f"{percent(share)} of {bound_by}" + beyond * (share > BEYOND_MEMORY)


def finding(low: float | None, high: float | None) -> str:
    """Judge a speed-up by its 99 % interval, the one rule for all that shows one.

    Example:
        >>> [finding(*ends) for ends in ((1.27, 1.35), (0.4, 0.8), (0.99, 1.04), (0.05, 145), (None, None))]
        ['faster', 'slower', 'no measurable difference', 'too noisy to tell', 'too few rounds to tell']
    """
    if low is None or high is None:
        return "too few rounds to tell"
    if low > NOISE_FLOOR or high < 1 / NOISE_FLOOR:
        return "faster" if low > 1 else "slower"
    return "too noisy to tell" if low < 1 / TOO_WIDE or high > TOO_WIDE else "no measurable difference"


def outcome(low: float | None, high: float | None) -> str:
    """Say what `finding` found in one word: `faster`, `slower`, `same`, or `unknown` where it cannot tell."""
    found = finding(low, high)
    return found if found in ("faster", "slower") else "same" if found == "no measurable difference" else "unknown"


def comparison(speedup: float, low: float | None, high: float | None) -> str:
    """Say how a kernel compares with the baseline.

    Example:
        >>> comparison(1.31, 1.27, 1.35)
        '1.31x faster (1.27-1.35)'
        >>> comparison(0.5, 0.4, 0.8)
        '2.00x slower (1.25-2.50)'
        >>> comparison(1.02, 0.99, 1.04)
        'no measurable difference (0.99-1.04)'
        >>> comparison(1.5, None, None)
        'too few rounds to tell'
        >>> comparison(1.5, 0.05, 145)
        'too noisy to tell (0.05-145)'
        >>> comparison(1.33, 1.02, 29.9)
        'faster (1.02-29.9)'
    """
    found = finding(low, high)
    if low is None or high is None:
        return found  # a ratio of which nothing can be told means nothing
    if found not in ("faster", "slower"):
        return f"{found} ({interval_text(low, high)})"
    if found == "slower":
        speedup, low, high = 1 / speedup, 1 / high, 1 / low
    factor = f"{three(speedup)}x " * (high < FACTOR_TOLD * low)
    return f"{factor}{found} ({interval_text(low, high)})"


def sentence(kernel: str, baseline: str, words: str) -> str:
    """Join two labels and a `comparison` into a sentence.

    Example:
        >>> sentence("lltm/fused", "lltm/python", "1.31x faster (1.27-1.35)")
        'lltm/fused is 1.31x faster than lltm/python (1.27-1.35)'
        >>> sentence("lltm/fused", "lltm/python", "no measurable difference (0.99-1.04)")
        'lltm/fused against lltm/python: no measurable difference (0.99-1.04)'
    """
    what, _, interval = words.partition(" (")
    if what.endswith(("faster", "slower")):
        return f"{kernel} is {what} than {baseline} ({interval}"
    return f"{kernel} against {baseline}: {words}"


def _places(number: float) -> int:
    return 0 if number >= 99.95 else 1 if number >= 9.995 else 2


def _unit(seconds: float) -> tuple[float, str]:
    return next((unit for unit in _UNITS if seconds < 999.5 * unit[0]), _UNITS[-1])
