"""How kernels are built and run: what all public verbs ask for, looked at once and handed on as one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.arguments import boolean, require_choices
from ..workers import steps
from ..workers.limits import Limits, require_limits


@dataclass(frozen=True)
class Setting:
    """How a kernel is built and run.

    Attributes:
        device: `"cpu"`, `"cuda"` or `"cuda-cpu"`.
        compiler, cflags: as for `build`.
        progress: a function, None for a live line after a second, False for nothing.
        trust: run it in this process and not in the worker.
        limits: of the worker; None for the usual ones.

    Raises:
        InputError: one of them makes no sense.

    Example:
        >>> Setting(trust=True).here
        True
        >>> Setting(device="tpu")
        Traceback (most recent call last):
            ...
        lltm_inline.errors.InputError: no device 'tpu'; want one of cpu, cuda, cuda-cpu
    """

    device: str = "cpu"
    compiler: str | None = None
    cflags: Sequence[str] | None = None
    progress: Callable[..., Any] | bool | None = None
    trust: bool = False
    limits: Limits | None = None

    def __post_init__(self) -> None:
        require_choices(device=self.device, compiler=self.compiler, cflags=self.cflags, progress=self.progress)
        boolean("trust", self.trust)
        require_limits(self.limits)
        if self.cflags is not None:
            object.__setattr__(self, "cflags", tuple(self.cflags))

    @property
    def here(self) -> bool:
        """Whether kernels run in this process. In the worker they do: it may die of them."""
        return self.trust or steps.in_worker()
