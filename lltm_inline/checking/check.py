"""Checks a kernel against its op: what it returns and refuses, parity with the reference, purity, gradcheck, safety.

A wrong kernel is a result, never an exception: whatever it raises becomes a finding of the report, and so does a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..base.device import DEVICES
from ..base.progress import Progress, Step
from ..errors import CheckError
from ..model.listeners import building, tell
from ..model.registry import Kernel, registry, resolve
from ..run.built import require_device
from ..run.cases import Size
from ..run.choices import choose_check_sizes
from ..run.setting import Setting
from ..workers.limits import Limits
from .report import Report
from .supervise import supervise


def check(
    kernel: Kernel | str,
    *,
    device: str = "cpu",
    sizes: Sequence[Size] | None = None,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    trust: bool = False,
    limits: Limits | None = None,
) -> Report:
    """Check a kernel against the reference of its op.

    Args:
        kernel: a `Kernel` or the name of one in the registry.
        device: `"cpu"`, `"cuda"`, or `"cuda-cpu"`, where a launch is also looked at step by step for indices out of bounds,
            races and barriers that not all threads reach.
        sizes: sizes to check at, in place of the corner sizes: zero, one, primes, block edges.
        compiler: as for `build`.
        cflags: as for `build`.
        progress: called with a text for each step; None shows a live line after a second, False nothing.
        trust: run it in this process and not in the worker. A crash ends this process then.
        limits: of time, memory and output in the worker.

    Returns:
        A Report with the sections `interface`, `parity`, `purity`, `gradcheck`, for a kernel that is registered with
        PyTorch's dispatcher `opcheck`, and `safety`. One that crashes has a section `crash` and the attribute `crash`.

    Raises:
        BuildError: the kernel does not compile. A kernel that is merely wrong, or crashes, does not raise.
        UnknownKernelError: no kernel of that name.
        InputError: an unknown device, a size that does not fit the op, or an op that cannot be sent to the worker.

    Example:
        >>> check("lltm/python").ok
        True
    """
    return _check(kernel, sizes, Setting(device, compiler, cflags, progress, trust, limits), gradients_only=False)


def gradcheck(
    kernel: Kernel | str,
    *,
    device: str = "cpu",
    sizes: Sequence[Size] | None = None,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    trust: bool = False,
    limits: Limits | None = None,
) -> Report:
    """Check the gradients of a kernel in float64: against the reference, against finite differences, and twice over.

    Args:
        kernel: a `Kernel` or the name of one in the registry.
        device: as for `check`.
        sizes: sizes in place of the primes; every input element costs two calls of forward.
        compiler: as for `build`.
        cflags: as for `build`.
        progress: as for `check`.
        trust: as for `check`.
        limits: as for `check`.

    Returns:
        A Report with the one section `gradcheck`, and `crash` where the kernel crashed.

    Raises:
        BuildError: the kernel does not compile.
        UnknownKernelError: no kernel of that name.
        InputError: an unknown device, a size that does not fit the op, or an op that cannot be sent to the worker.

    Example:
        >>> gradcheck("lltm/python").ok
        True
    """
    return _check(kernel, sizes, Setting(device, compiler, cflags, progress, trust, limits), gradients_only=True)


def _check(kernel: Kernel | str, sizes: Sequence[Size] | None, setting: Setting, *, gradients_only: bool) -> Report:
    """Look at the kernel and the sizes, check, and tell what came of it."""
    kernel = resolve(kernel)
    chosen = choose_check_sizes(registry.op_of(kernel), sizes)
    require_device(setting.device, kernel)
    if flags := DEVICES[setting.device].check_flags:
        setting = replace(setting, cflags=(*(setting.cflags or ()), *flags))
    with building([kernel]):
        report = supervise(kernel, chosen, setting, gradients_only=gradients_only)
    if report.crash is not None:
        tell(kernel, "crashed", report.headline)
    elif not report.ok:
        tell(kernel, "wrong", report.headline)
    elif not gradients_only:  # which would be only a part of what makes a kernel right
        tell(kernel, "right")
    return report


def require_right(kernels: Sequence[Kernel], setting: Setting, step: Step, *, done: str = "timed") -> None:
    """Run the full check on every kernel but the reference itself.

    Raises:
        CheckError: one of them is wrong; `.report` has the whole report. CrashError: one of them crashes.
    """
    setting = replace(setting, progress=step)
    for kernel in kernels:
        if kernel.python is not registry.op_of(kernel).reference:
            report = _check(kernel, None, setting, gradients_only=False)
            if report.crash is not None:
                raise report.crash.error()
            if not report.ok:
                raise CheckError(f"{report.headline}\nIt was not {done}. The whole report: e.report", report=report)
        step(f"checked {kernel.label}", 1)
