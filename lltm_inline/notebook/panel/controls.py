"""From the params of a kernel to sliders and choices: what the value is, and how the text uses it, says which fits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...model.kernel import Kernel

#: A power of two may go so many times up, and down.
_FACTOR = 64
#: Blocks of CUDA threads: a warp at least, and no GPU takes more than 1024.
_THREADS = ("THREADS", 32, 1024)
#: Beyond this a slider is too coarse for numbers that are no powers of two.
_MOST_STEPS = 1000


def controls_of(kernel: Kernel, params: Mapping[str, int | float] | None = None) -> list[dict[str, Any]]:
    """List a control for each param of a kernel.

    Args:
        kernel: its params say what is usual, and its texts how they are used.
        params: the values as they stand, which a control must be able to show.

    Returns:
        Dicts with `name`, `kind` (`slider`, `choice` or `number`), `step`, `log` and `options`, and for a slider `min` and
        `max`. The step of a slider with `log` is a factor.

    Example:
        >>> [one] = controls_of(Kernel("axpy/mine", cpp="...", params={"UNROLL": 8}))
        >>> one["kind"], one["log"], one["min"], one["max"]
        ('slider', True, 1, 512)
    """
    now = {**kernel.params, **(params or {})}
    text = "\n".join(kernel.sources.values())
    return [_control(name, value, now[name], text) for name, value in kernel.params.items()]


def _control(name: str, usual: int | float, value: int | float, text: str) -> dict[str, Any]:
    options = _options(name, usual, text)
    if options:
        return _described(name, "choice", options=sorted({*options, int(value)}))
    if _is_power(usual) and _is_power(value):
        least, most = _THREADS[1:] if name == _THREADS[0] else (max(1, int(usual) // _FACTOR), int(usual) * _FACTOR)
        return _described(name, "slider", min(least, int(value)), max(most, int(value)), 2, log=True)
    if isinstance(usual, float) or isinstance(value, float):
        return _fraction(name, float(usual), float(value))
    most = 4 * abs(int(usual))
    if usual in (0, 1) or most > _MOST_STEPS:
        return _described(name, "number", step=1)
    return _described(name, "slider", min(0 if usual > 0 else -most, value), max(most, value), 1)


def _fraction(name: str, usual: float, value: float) -> dict[str, Any]:
    """Make the control of a floating-point number: from nothing to twice the usual."""
    if usual == 0 or not math.isfinite(2 * usual):
        return _described(name, "number", step=0.1)
    ends = (0.0, 2 * usual, value)
    step = 10.0 ** math.floor(math.log10(abs(usual) / 5))
    return _described(name, "slider", min(ends), max(ends), step)


def _described(
    name: str,
    kind: str,
    least: float | None = None,
    most: float | None = None,
    step: float = 1,
    *,
    log: bool = False,
    options: Iterable[int] = (),
) -> dict[str, Any]:
    ends = {"min": least, "max": most} if most is not None else {}
    return {"name": name, "kind": kind, **ends, "step": step, "log": log, "options": list(options)}


def _is_power(value: int | float) -> bool:
    return isinstance(value, int) and value > 1 and value & (value - 1) == 0


def _options(name: str, value: int | float, text: str) -> set[int]:
    """Find the values that a text tells apart: those it compares with, or 0 and 1 where it only asks whether it is set."""
    if not isinstance(value, int) or value not in range(10):
        return set()
    compared = {int(number) for number in re.findall(rf"\b{name}\s*[=!]=\s*(\d)\b(?![.\d])", text)}
    if compared:
        return {0, *compared, int(value)}
    asked = re.search(
        rf"(?:\bif\s+(?:constexpr\s*)?\(|\bif\s*\(|#\s*(?:el)?if\s+|[!&|]\s*|^|[=(,]\s*){name}\s*(?:\)|\?|&&|\|\||$)",
        text,
        re.MULTILINE,
    )
    return {0, 1} if isinstance(value, bool) or (asked and value in (0, 1)) else set()
