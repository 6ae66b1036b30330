"""Numbers and findings of a benchmark in words."""

from __future__ import annotations

#: Intervals that reach nearer to 1 than this are no finding: code placement alone moves timings as much.
NOISE_FLOOR = 1.01

_UNITS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))


def time_text(seconds: float, *, micro: str = "us") -> str:
    """Write a time with three digits and the unit that suits it; `micro` is how to write microseconds.

    Example:
        >>> time_text(3.7251e-5), time_text(0.0208), time_text(12.0)
        ('37.3 us', '20.8 ms', '12.0 s')
    """
    unit, name = _unit(seconds)
    return f"{three(seconds / unit)} {name.replace('us', micro)}"


def spread_text(middle: float, low: float, high: float) -> str:
    """Write a time and its quartiles in one unit.

    Example:
        >>> spread_text(1.02e-3, 0.998e-3, 1.06e-3)
        '1.02 ms (1.00-1.06)'
    """
    unit, name = _unit(middle)
    return f"{three(middle / unit)} {name} ({three(low / unit)}-{three(high / unit)})"


def three(number: float) -> str:
    """Write a number with three digits, four if it has them ahead of the point.

    Example:
        >>> three(0.994), three(1.3), three(12.34), three(1234.5)
        ('0.99', '1.30', '12.3', '1234')
    """
    return f"{number:.{0 if number >= 99.95 else 1 if number >= 9.995 else 2}f}"


def outcome(low: float | None, high: float | None) -> str:
    """Judge a speed-up by its interval: `faster`, `slower`, `same` or, without an interval, `unknown`."""
    if low is None or high is None:
        return "unknown"
    return "faster" if low > NOISE_FLOOR else "slower" if high < 1 / NOISE_FLOOR else "same"


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
        'too few rounds to tell (1.50x)'
    """
    found = outcome(low, high)
    if low is None or high is None:
        return f"too few rounds to tell ({three(speedup)}x)"
    if found == "same":
        return f"no measurable difference ({three(low)}-{three(high)})"
    if found == "slower":
        speedup, low, high = 1 / speedup, 1 / high, 1 / low
    return f"{three(speedup)}x {found} ({three(low)}-{three(high)})"


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


def _unit(seconds: float) -> tuple[float, str]:
    return next((unit for unit in _UNITS if seconds < 999.5 * unit[0]), _UNITS[-1])
