"""A second look at a kernel that crashed, for the worker: from the smallest size on, between guard pages."""

from __future__ import annotations

from collections.abc import Sequence

from ...registry import Kernel, registry
from ..load import load
from ..report import Finding
from ..worker import steps
from .cases import Case, size_cases
from .examine import link_guard
from .runner import Runner, laboratory
from .safety import ascending, flush_cases, replay, smaller_cases


def runner_here(kernel: Kernel, device: str, compiler: str | None, cflags: Sequence[str] | None) -> Runner:
    """Load a kernel into this process."""
    function = load(kernel, device=device, compiler=compiler, cflags=cflags, progress=False, trust=True)
    return Runner(function, kernel, registry.op_of(kernel), device)


def replay_here(
    kernel: Kernel, case: Case | None, compiler: str | None, cflags: Sequence[str] | None
) -> tuple[Finding, ...]:
    """Run plain cases, then smaller ones of the kind that crashed, between guard pages; for the worker.

    Args:
        kernel: which crashed.
        case: in which it did, where that is known.
        compiler, cflags: as for `build`.

    Returns:
        What was found without a crash.
    """
    runner = runner_here(kernel, "cpu", compiler, cflags)
    with laboratory():
        plain = ascending(runner.op, [known for known in size_cases(runner.op, None) if known.plain])
        # Tensors without elements last: they have no memory, so what goes past their end says less.
        empty = [known for known in plain if 0 in known.size]
        like = smaller_cases(runner.op, case) if case is not None and not case.plain else []
        link_guard()
        cases = [*(known for known in plain if known not in empty), *like, *empty]
        found = tuple(replay(runner, cases, runner.note, fatal=True).findings)
        if found:
            # What stays within the slack behind a tensor does not fault; without slack it does, and the line is known.
            steps.tell("found", found)
            replay(runner, flush_cases(runner.op), runner.note, fatal=True)
        return found
