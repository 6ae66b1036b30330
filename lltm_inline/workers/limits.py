"""How long and how large a kernel may get before the worker is stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import InputError

#: Between two steps the checker itself works: it may take long, but not for ever.
_BETWEEN, _FEWEST_BETWEEN = 12.0, 120.0
#: Many calls in one step, or much work of torch's own, whose threads wait for each other on a busy machine.
_FACTORS = {"gradcheck": 3.0, "opcheck": 6.0, "reference": 6.0}
_FEWEST_SECONDS = {"opcheck": 60.0}


@dataclass(frozen=True)
class Limits:
    """What a kernel may use in the worker.

    Attributes:
        seconds: wall time of one step: one call of the kernel, or its loading.
        memory: bytes beyond what was in use before the step, including its inputs.
        output: bytes printed to standard output and standard error, during one check or benchmark.

    Example:
        >>> Limits(seconds=2).memory == 2 * 2**30
        True
    """

    seconds: float = 10.0
    memory: int = 2 * 2**30
    output: int = 64 * 2**20

    def __post_init__(self) -> None:
        for name in ("seconds", "memory", "output"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not value > 0 or (name != "seconds" and not math.isfinite(value)):
                raise InputError(f"Limits({name}={value!r}): want a positive number")

    def seconds_of(self, step: str) -> float:
        """Return the wall time that a step may take; without a name, the time between two steps."""
        if not step:
            return max(self.seconds * _BETWEEN, _FEWEST_BETWEEN)
        return max(self.seconds * _FACTORS.get(step, 1.0), _FEWEST_SECONDS.get(step, 0.0))
