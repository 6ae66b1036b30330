"""What a measurement of memory found: rows of bytes, and a verdict in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ..base.above import Shown
from ..base.arguments import LARGEST, one_of, plural, refusal
from .table import BaseRow, Table
from .words import bytes_text, three

#: A kernel may also give back what it took earlier.
_ANY = {"least": -LARGEST}


@dataclass(frozen=True)
class MemoryRow(BaseRow):
    """The memory of one kernel at one size, in bytes above inputs, parameters and incoming gradients.

    Args:
        kernel, op, size, dtype, device: as of each `BaseRow`; the size of the first layer.
        depth: number of layers.
        held: what lives between forward and backward, outputs included.
        outputs: the outputs' part of it.
        peak: the most that lived at one time over forward and backward, gradients included.
        left: what is still there when outputs and gradients are gone: 0, unless the kernel keeps something.
        threads: number of PyTorch's threads.
        torch: its version.
        cpu: name of the processor, or of the GPU for the device `cuda`.
    """

    depth: int = field(metadata={"least": 1})
    held: int = field(metadata=_ANY)
    outputs: int = field(metadata=_ANY)
    peak: int = field(metadata=_ANY)
    left: int = field(default=0, metadata=_ANY)
    threads: int = 1
    torch: str = ""
    cpu: str = ""

    _where: ClassVar[str] = "a row of memory"

    def conditions(self) -> tuple[str, ...]:
        """What the figures depend on."""
        return plural(self.threads, "thread"), self.torch and f"torch {self.torch}", self.cpu

    @property
    def subject(self) -> str:
        """What was measured, without the size: `lltm, float32, cpu, 4 layers`."""
        return super().subject + (f", {self.depth} layers" if self.depth > 1 else "")


@dataclass(frozen=True, repr=False)
class Memory(Table[MemoryRow], Shown):
    """All rows of one measurement of memory. Displays itself as a table with ratios to the baseline.

    Args:
        rows: one `MemoryRow` for each kernel and size.
        baseline: label of the kernel against which ratios are counted.

    Example:
        >>> what = dict(op="conv_bn", size={"B": 3}, depth=1, dtype="float32", device="cpu", outputs=2**20)
        >>> rows = MemoryRow("conv_bn/unfused", held=4 * 2**20, peak=8 * 2**20, **what), \\
        ...        MemoryRow("conv_bn/fused", held=2**20, peak=8 * 2**20, **what)
        >>> print(Memory(rows, "conv_bn/unfused").verdict())
        conv_bn/fused holds 0.25x of what conv_bn/unfused holds, and peaks at 1.00x
    """

    _row = MemoryRow
    _format = "lltm_inline memory 1"
    _what = "a measurement of memory"
    _nothing = "Memory: nothing was measured"
    _heads = ("held for backward", "of it outputs", "peak")

    def ratio(self, row: MemoryRow, what: str) -> float | None:
        """Divide a row's `held` or `peak` by the baseline's at the same size; None where that is missing or zero.

        Raises:
            InputError: no row, or another column.
        """
        one_of("what", what, ("held", "outputs", "peak", "left"))
        if not isinstance(row, MemoryRow):
            raise refusal("row", row, "a MemoryRow")
        base = self.select(kernel=self.baseline, size=row.size).rows
        return getattr(row, what) / getattr(base[0], what) if base and getattr(base[0], what) else None

    def verdict(self) -> str:
        """Say in words how each kernel compares with the baseline; one line for each kernel and size."""
        lines = []
        for kernel in self.kernels:
            rows = self.select(kernel=kernel).rows
            for row in rows if kernel != self.baseline else ():
                held, peak = self.ratio(row, "held"), self.ratio(row, "peak")
                if held is not None and peak is not None:
                    peaks = f"peaks at {three(peak)}x" + f" at {row.size_text}" * (len(self.sizes) > 1)
                    lines.append(f"{kernel} holds {three(held)}x of what {self.baseline} holds, and {peaks}")
            lines += [f"{kernel} keeps {bytes_text(row.left)} for good at {row.size_text}" for row in rows if row.left]
        return "\n".join(lines) or ("nothing to compare with" if self.rows else "nothing was measured")

    @property
    def caption(self) -> str:
        """What was measured, and how to read the columns."""
        return f"{self.rows[0].subject}: memory above inputs and parameters, and the ratio to {self.baseline}"

    def _warnings(self) -> list[str]:
        return [line for line in self.verdict().split("\n") if " for good " in line]

    def cells(self, row: MemoryRow) -> tuple[str, ...]:
        """Write a row as cells of the table, without its kernel."""
        held, peak = (
            bytes_text(getattr(row, what)) + ("" if (found := self.ratio(row, what)) is None else f"  {three(found)}x")
            for what in ("held", "peak")
        )
        return held, bytes_text(row.outputs), peak
