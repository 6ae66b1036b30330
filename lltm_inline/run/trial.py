"""The first run of a library: in the worker, at small sizes, so that what crashes at once does so there."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import CrashError
from ..progress import Progress, showing
from ..registry import Kernel
from .checking.cases import size_cases
from .checking.replay import runner_here
from .isolated import ask, prepare
from .worker.limits import Limits


def try_out(
    kernel: Kernel,
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
    progress: Progress | bool | None,
    limits: Limits | None,
) -> None:
    """Load and run a kernel in the worker. What it computes, or raises, is not looked at.

    Raises:
        CrashError: the worker died of it; TimeoutError: it did not come back.
    """
    prepared = prepare([kernel], device, compiler, cflags, progress)
    try:
        with showing(f"trying out {kernel.label}", progress):
            ask(
                run_here,
                *(kernel, device, compiler, cflags),
                kernels=[kernel],
                device=device,
                limits=limits,
                prepared=prepared,
            )
    except CrashError as error:
        error.add_note(
            "It was tried out at small sizes before this process loads it; load(..., trust=True) does without."
        )
        raise


def run_here(kernel: Kernel, device: str, compiler: str | None, cflags: Sequence[str] | None) -> None:
    """Run forward and backward at the corner sizes; for the worker."""
    runner = runner_here(kernel, device, compiler, cflags)
    for case in size_cases(runner.op, None):
        runner.run_again(case)
