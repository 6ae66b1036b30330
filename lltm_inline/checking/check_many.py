"""Checks many kernels one after another, each as far as this machine goes, and sums up in one table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..base.arguments import plural
from ..base.device import DEVICES
from ..build.compiler import build
from ..build.nvcc import find_cuda
from ..errors import BuildError, DefinitionError, TemplateError, ToolchainError
from ..model.registry import Kernel
from ..source.template import devices_of
from .check import check

_NEEDS_GPU = "needs a CUDA device"
#: What is the kernel's own fault.
_FAULTS = (BuildError, TemplateError, DefinitionError)


@dataclass(frozen=True)
class Checked:
    """What came of one of many kernels.

    Attributes:
        kernel: label.
        device: where it was checked, or where it would be.
        verdict: `"right"`, `"WRONG"`, `"compiles"` or `"not tried"`.
        seconds: how long it took, the build included.
        note: why it was not run.
        details: the report or the compiler's error of a wrong kernel.
    """

    kernel: str
    device: str
    verdict: str
    seconds: float = 0.0
    note: str = ""
    details: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found to be wrong."""
        return self.verdict != "WRONG"


def check_many(kernels: Sequence[Kernel], device: str = "cpu") -> Iterator[Checked]:
    """Check kernels, all of them before it is said which are wrong.

    Args:
        kernels: what to check.
        device: `"cpu"`: each on the CPU, those without a text for it on a GPU, and where there is none, they are compiled,
            if nvcc is there. `"cuda"`: those with a text for a GPU there.

    Yields:
        A row for each, as soon as it is known.

    Raises:
        ToolchainError: device `"cuda"`, and CUDA cannot be used; or no C++ compiler.
    """
    if DEVICES[device].needs_gpu:
        find_cuda(compile_only=False)
        kernels = [kernel for kernel in kernels if device in devices_of(kernel)]
    for kernel in kernels:
        if device in devices_of(kernel):
            yield _checked(kernel, device)
        else:
            yield _on_a_gpu(kernel)


def _checked(kernel: Kernel, device: str) -> Checked:
    started = time.perf_counter()
    try:
        report = check(kernel, device=device)
    except _FAULTS as error:
        return Checked(kernel.label, device, "WRONG", time.perf_counter() - started, "does not compile", str(error))
    seconds = time.perf_counter() - started
    return (
        Checked(kernel.label, device, "right", seconds)
        if report.ok
        else Checked(kernel.label, device, report.verdict, seconds, "", str(report))
    )


def _on_a_gpu(kernel: Kernel) -> Checked:
    """Check a kernel that has a CUDA text only: run it, or compile it, or say what is missing."""
    started = time.perf_counter()
    try:
        find_cuda(compile_only=False)
        return _checked(kernel, "cuda")
    except ToolchainError:
        pass
    try:
        build(kernel, device="cuda", compile_only=True)
    except ToolchainError:
        return Checked(kernel.label, "cuda", "not tried", note=f"{_NEEDS_GPU}, and there is no nvcc to compile it")
    except _FAULTS as error:
        return Checked(kernel.label, "cuda", "WRONG", time.perf_counter() - started, "does not compile", str(error))
    return Checked(kernel.label, "cuda", "compiles", time.perf_counter() - started, _NEEDS_GPU)


def table(rows: Sequence[Checked]) -> str:
    """Lay out rows as plain text, with a last line that counts.

    Example:
        >>> print(table([Checked("axpy/cpp", "cpu", "right", 1.25), Checked("axpy/cuda", "cuda", "compiles", 6, "needs a CUDA device")]))
        axpy/cpp   cpu   right        1.2 s
        axpy/cuda  cuda  compiles     6.0 s  needs a CUDA device
        2 kernels: 1 right, 1 compiles
    """
    width = max((len(row.kernel) for row in rows), default=0)
    lines = []
    for row in rows:
        took = f"{row.seconds:6.1f} s" if row.seconds else " " * 8
        lines.append(f"{row.kernel:<{width}}  {row.device:<4}  {row.verdict:<9}  {took}  {row.note}".rstrip())
    counts = [
        (verdict, sum(row.verdict == verdict for row in rows))
        for verdict in ("right", "WRONG", "compiles", "not tried")
    ]
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
    return "\n".join([*lines, f"{plural(len(rows), 'kernel')}: {words or 'nothing to check'}"])
