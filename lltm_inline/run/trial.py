"""The first run of a library: in the worker, at small sizes, so that what crashes at once does so there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

from ..errors import CrashError
from ..progress import Progress, showing
from ..registry import Kernel, Op
from .checking.cases import THREADS, Case, as_tuple, differentiable, make_inputs, place, size_cases
from .checking.replay import runner_here
from .checking.runner import Runner, threads
from .isolated import ask, prepare
from .worker import steps
from .worker.limits import Limits

#: What tells wrong from right, and crashes no more than the sizes around it do.
_LEFT_OUT = ("remainders", THREADS)


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
    """Run forward and backward at the corner sizes that the reference takes; for the worker.

    The reference runs forward alone, and at one of the dtypes: whether a size makes sense is all that it is asked.
    """
    runner = runner_here(kernel, device, compiler, cflags)
    takes: dict[tuple[Any, ...], bool] = {}
    for case in size_cases(runner.op, None):
        if case.group in _LEFT_OUT:
            continue
        inputs = make_inputs(runner.op, case)
        size = (case.size, case.view)
        if size not in takes:
            takes[size] = _takes(runner.op, inputs)
        if takes[size]:
            _run(runner, case, inputs)


def _takes(op: Op, inputs: Sequence[Any]) -> bool:
    try:
        with torch.no_grad():
            op.reference(*inputs)
    except Exception:  # whatever it raises for a size that it refuses
        return False
    return True


def _run(runner: Runner, case: Case, inputs: Sequence[Any]) -> None:
    leaves = [
        place(value, "contiguous", runner.device).tensor if isinstance(value, torch.Tensor) else value
        for value in inputs
    ]
    leaves = [leaf.detach().requires_grad_() if differentiable(leaf) else leaf for leaf in leaves]

    def described() -> tuple[str, list[str]]:
        return case.describe(runner.op), steps.describe(runner.op, leaves)

    with suppress(Exception), threads(runner.threads_for(case)):  # what it raises, a check tells
        with steps.step("forward", runner.kernel.label, described):
            outputs = as_tuple(runner.function(*leaves))
        heads = [output for output in outputs if isinstance(output, torch.Tensor) and output.requires_grad]
        wanted = [leaf for leaf in leaves if differentiable(leaf)]
        if heads and wanted:
            with steps.step("backward", runner.kernel.label, described):
                torch.autograd.grad(heads, wanted, [torch.ones_like(head) for head in heads], allow_unused=True)
