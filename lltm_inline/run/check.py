"""Checks a kernel against its op: what it returns and refuses, parity with the reference, purity, gradcheck, safety.

A wrong kernel is a result, never an exception: whatever it raises becomes a finding of the report, and so does a crash.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..arguments import require_choices
from ..progress import Progress, showing
from ..registry import Kernel, registry, resolve
from ..told import building, tell
from .checking.cases import Size
from .checking.examine import examine
from .checking.supervise import supervise
from .load import require_device
from .report import Report
from .sizes import choose_check_sizes
from .worker import steps
from .worker.limits import Limits, require_limits

DEVICES = ("cpu", "cuda")


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
        device: `"cpu"` or `"cuda"`.
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
    return _check(kernel, device, sizes, compiler, cflags, progress, trust, limits, gradients_only=False)


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
        device: `"cpu"` or `"cuda"`.
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
    return _check(kernel, device, sizes, compiler, cflags, progress, trust, limits, gradients_only=True)


def _check(
    kernel: Kernel | str,
    device: str,
    sizes: Sequence[Size] | None,
    compiler: str | None,
    cflags: Sequence[str] | None,
    progress: Progress | bool | None,
    trust: bool,
    limits: Limits | None,
    *,
    gradients_only: bool,
) -> Report:
    """Look at the arguments, then check here or in the worker."""
    require_choices(device=device, devices=DEVICES, compiler=compiler, cflags=cflags, progress=progress, trust=trust)
    require_limits(limits)
    kernel = resolve(kernel)
    chosen = choose_check_sizes(registry.op_of(kernel), sizes)
    require_device(device, kernel)
    title = f"{'gradcheck of' if gradients_only else 'checking'} {kernel.label}"
    with building([kernel]):
        if trust or steps.in_worker():
            with showing(title, progress) as say:
                report = examine(kernel, chosen, device, compiler, cflags, say, gradients_only=gradients_only)
        else:
            report = supervise(
                kernel, chosen, device, compiler, cflags, progress, limits, title=title, gradients_only=gradients_only
            )
    if report.crash is not None:
        tell(kernel, "crashed", report.headline)
    elif not report.ok:
        tell(kernel, "wrong", report.headline)
    elif not gradients_only:  # which would be only a part of what makes a kernel right
        tell(kernel, "right")
    return report
