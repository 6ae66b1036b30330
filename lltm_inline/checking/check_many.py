"""Checks many kernels one after another, each where this machine can run it, and sums up in one table."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..base.arguments import plural
from ..base.device import DEVICES
from ..compiling.nvcc import find_cuda
from ..errors import BuildError, DefinitionError, TemplateError, ToolchainError
from ..model.registry import Kernel
from ..source.template import devices_of
from .check import check
from .report import VERDICTS

#: What is the kernel's own fault.
_FAULTS = (BuildError, TemplateError, DefinitionError)


@dataclass(frozen=True)
class Checked:
    """What came of one of many kernels.

    Attributes:
        kernel: label.
        device: where it was checked.
        verdict: that of the report, one of `VERDICTS`.
        seconds: how long it took, the build included.
        note: `"does not compile"`, or nothing.
        details: the report or the compiler's error of a kernel that is not right.
    """

    kernel: str
    device: str
    verdict: str
    seconds: float = 0.0
    note: str = ""
    details: str = ""


@dataclass(frozen=True)
class Checks:
    """What came of all of them; shows itself as a table."""

    rows: tuple[Checked, ...]

    @property
    def wrong(self) -> bool:
        """Whether one of them is wrong, or does not compile."""
        return any(row.verdict == VERDICTS[-1] for row in self.rows)

    def __str__(self) -> str:
        return table(self.rows)

    __repr__ = __str__


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
    for_cuda_texts = _for_cuda_texts() if device == "cpu" else device
    for kernel in kernels:
        if device in devices_of(kernel):
            yield _checked(kernel, device)
        elif device == "cpu":
            yield _checked(kernel, for_cuda_texts)


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
    details = "" if report.ok else str(report)
    return Checked(kernel.label, device, report.verdict, time.perf_counter() - started, details=details)


def table(rows: Sequence[Checked]) -> str:
    """Lay out rows as plain text, with a last line that counts.

    Example:
        >>> rows = [
        ...     Checked("axpy/cpp", "cpu", "right", 1.25),
        ...     Checked("axpy/mine", "cpu", "right in forward; no backward", 1.5),
        ...     Checked("axpy/cuda", "cuda-cpu", "WRONG", 6, "does not compile"),
        ... ]
        >>> print(table(rows))
        axpy/cpp   cpu       right                             1.2 s
        axpy/mine  cpu       right in forward; no backward     1.5 s
        axpy/cuda  cuda-cpu  WRONG                             6.0 s  does not compile
        3 kernels: 1 right, 1 right in forward; no backward, 1 WRONG
    """
    widths = [max((len(word) for word in column), default=0) for column in zip(*map(_words, rows), strict=True)]
    lines = []
    for row in rows:
        words = "  ".join(f"{word:<{width}}" for word, width in zip(_words(row), widths, strict=True))
        lines.append(f"{words}  {row.seconds:6.1f} s  {row.note}".rstrip())
    counts = Counter(row.verdict for row in rows)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in sorted(counts, key=VERDICTS.index))
    return "\n".join([*lines, f"{plural(len(rows), 'kernel')}: {words or 'nothing to check'}"])


def _words(row: Checked) -> tuple[str, str, str]:
    return row.kernel, row.device, row.verdict
