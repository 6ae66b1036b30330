"""Makes a kernel callable: it is built, tried out in the worker, and then loaded into this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

from ..base.progress import Progress, showing
from ..checking.postmortem import run_or_raise
from ..checking.runner import Runner, runner_of, threads
from ..errors import CrashError
from ..model.outcomes import noting
from ..model.registry import Kernel, Op, resolve
from ..run.built import Built, build_all, is_tried, mark_tried, require_device
from ..run.cases import THREADS, Case, make_inputs, place, size_cases
from ..run.executor import Task
from ..run.function import Function, as_tuple, differentiable
from ..run.library import is_loaded, load_built
from ..run.setting import Setting
from ..workers import steps
from ..workers.client import worker
from ..workers.limits import Limits

#: What tells wrong from right, and crashes no more than the sizes around it do.
_LEFT_OUT = ("remainders", THREADS)
_trying = threading.RLock()  # what two threads load is tried out once


def load(
    kernel: Kernel | str,
    *,
    device: str = "cpu",
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    trust: bool = False,
    limits: Limits | None = None,
) -> Function:
    """Build a kernel if need be, try it out in the worker, and make it callable in this process.

    The worker runs a library once, at small sizes; that it came back is remembered beside the library in the cache.

    Args:
        kernel: a kernel or its label.
        device: `"cpu"`, or `"cuda"` for a kernel with a CUDA text.
        compiler, cflags, progress: as for `build`.
        trust: load it without trying it out.
        limits: of the worker.

    Returns:
        A function of the op's signature, differentiable.

    Raises:
        BuildError, SignatureError, ToolchainError, CacheError: as for `build`.
        CrashError: it crashed in the worker, or while it was loaded there; TimeoutError: it did not come back.

    Example:
        >>> import torch
        >>> lltm = load("lltm/fused")
        >>> B, F, S = 3, 17, 5
        >>> h, cell = lltm(torch.randn(B, F), torch.randn(3 * S, S + F), torch.randn(3 * S), torch.zeros(B, S), torch.zeros(B, S))
        >>> h.shape
        torch.Size([3, 5])
    """
    setting = Setting(device, compiler, cflags, progress, trust, limits)
    kernel = resolve(kernel)
    require_device(device, kernel)
    with noting([kernel]):
        # The worker imports torch, which takes about as long as a compiler.
        (built,) = build_all([kernel], setting, None if setting.here else worker.warm)
        with _trying:
            if not setting.here and not is_loaded(built) and not is_tried(built):
                _try_out(built, setting)
                mark_tried(built)
        return load_built(built)


# What torch.compiler.disable does, without importing the compiler: a trace must not look into `load`, nor into what it calls.
_dynamo = torch._C._dynamo.eval_frame
if hasattr(
    _dynamo, "_FrameExecStrategy"
):  # private, so it may go; then only an unloaded module under torch.compile suffers
    _dynamo.set_code_exec_strategy(load.__code__, _dynamo._FrameExecStrategy(*[_dynamo._FrameAction.SKIP] * 2))
load._torchdynamo_disable = True  # type: ignore[attr-defined]
load._torchdynamo_disable_msg = (  # type: ignore[attr-defined]
    "the kernel is not loaded yet: call lltm_inline.load, or a module over the kernel, once before compiling with fullgraph=True"
)


def _try_out(built: Built, setting: Setting) -> None:
    """Load and run a kernel in the worker. What it computes, or raises, is not looked at.

    Raises:
        CrashError: the worker died of it; TimeoutError: it did not come back.
    """
    try:
        with showing(f"trying out {built.kernel.label}", setting.progress):
            run_or_raise(TryOut((built,)), setting)
    except CrashError as error:
        error.add_note(
            "It was tried out at small sizes before this process loads it; load(..., trust=True) does without."
        )
        raise


@dataclass(frozen=True)
class TryOut(Task):
    """The first run of a library: at small sizes, so that what crashes at once does so in the worker."""

    def run(self) -> None:
        """Run forward and backward at the corner sizes that the reference takes.

        The reference runs forward alone, and at one of the dtypes: whether a size makes sense is all that it is asked.
        """
        runner = runner_of(self.built[0])
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
