"""Checks many kernels one after another, each where this machine can run it, and sums up in one table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..base.arguments import plural
from ..base.device import DEVICES
from ..build.nvcc import find_cuda
from ..errors import BuildError, DefinitionError, TemplateError, ToolchainError
from ..model.registry import Kernel
from ..source.template import devices_of
from .check import check

#: What is the kernel's own fault.
_FAULTS = (BuildError, TemplateError, DefinitionError)


@dataclass(frozen=True)
class Checked:
    """What came of one of many kernels.

    Attributes:
        kernel: label.
        device: where it was checked.
        verdict: `"right"` or `"WRONG"`.
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
        return self.verdict == "right"


def check_many(kernels: Sequence[Kernel], device: str = "cpu") -> Iterator[Checked]:
    """Check kernels, all of them before it is said which are wrong.

    Args:
        kernels: what to check.
        device: `"cpu"`: each on the CPU, those without a text for it on a GPU, and where there is none, on `"cuda-cpu"`.
            Any other: those with a text for it.

    Yields:
        A row for each, as soon as it is known.

    Raises:
        ToolchainError: device `"cuda"`, and CUDA cannot be used; or no C++ compiler.
    """
    if DEVICES[device].needs_gpu:
        find_cuda(compile_only=False)
    for kernel in kernels:
        if device in devices_of(kernel):
            yield _checked(kernel, device)
        elif device == "cpu":
            yield _checked(kernel, _for_cuda_texts())


def _for_cuda_texts() -> str:
    try:
        find_cuda(compile_only=False)
        return "cuda"
    except ToolchainError:
        return "cuda-cpu"


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


def table(rows: Sequence[Checked]) -> str:
    """Lay out rows as plain text, with a last line that counts.

    Example:
        >>> print(table([Checked("axpy/cpp", "cpu", "right", 1.25), Checked("axpy/cuda", "cuda-cpu", "WRONG", 6, "does not compile")]))
        axpy/cpp   cpu       right     1.2 s
        axpy/cuda  cuda-cpu  WRONG     6.0 s  does not compile
        2 kernels: 1 right, 1 WRONG
    """
    width = max((len(row.kernel) for row in rows), default=0)
    lines = []
    for row in rows:
        took = f"{row.seconds:6.1f} s"
        lines.append(f"{row.kernel:<{width}}  {row.device:<8}  {row.verdict}  {took}  {row.note}".rstrip())
    counts = [(verdict, sum(row.verdict == verdict for row in rows)) for verdict in ("right", "WRONG")]
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
    return "\n".join([*lines, f"{plural(len(rows), 'kernel')}: {words or 'nothing to check'}"])
