"""What a measurement of memory found: rows of bytes, a table, a verdict in words, and the way to files and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..above import Shown
from ..arguments import LARGEST, integer, one_of, refusal, string
from .timing.rows import JsonFile, rows_from, rows_of, select_text, size_of
from .timing.words import three

_FORMAT = "lltm_inline memory 1"
_ROW = "a row of memory"
_COLUMNS = ("kernel", "held for backward", "of it outputs", "peak")


@dataclass(frozen=True)
class MemoryRow:
    """The memory of one kernel at one size, in bytes above inputs, parameters and incoming gradients.

    Args:
        kernel: label, `lltm/fused@2`.
        op: name of the op.
        size: numbers by letter, `{"B": 16, "F": 32, "S": 128}`; of the first layer.
        depth: number of layers.
        dtype: `float32`.
        device: `cpu`.
        held: what lives between forward and backward, outputs included.
        outputs: the outputs' part of it.
        peak: the most that lived at one time over forward and backward, gradients included.
        left: what is still there when outputs and gradients are gone: 0, unless the kernel keeps something.
        threads: number of PyTorch's threads.
        torch: its version.
        cpu: name of the processor, or of the GPU for the device `cuda`.
    """

    kernel: str
    op: str
    size: Mapping[str, int] = field(hash=False)
    depth: int
    dtype: str
    device: str
    held: int
    outputs: int
    peak: int
    left: int = 0
    threads: int = 1
    torch: str = ""
    cpu: str = ""

    def __post_init__(self) -> None:
        for name in ("kernel", "op", "dtype", "device", "torch", "cpu"):
            string(name, getattr(self, name), where=_ROW)
        object.__setattr__(self, "size", size_of(self.size))
        for name, least in (("depth", 1), ("threads", 0)):
            integer(name, getattr(self, name), least=least, where=_ROW)
        for name in ("held", "outputs", "peak", "left"):  # a kernel may also give back what it took earlier
            integer(name, getattr(self, name), least=-LARGEST, where=_ROW)

    @property
    def size_text(self) -> str:
        """The size as a reader wants it, `B=16 F=32 S=128`."""
        return " ".join(f"{letter}={number}" for letter, number in self.size.items())


@dataclass(frozen=True)
class Memory(JsonFile, Shown):
    """All rows of one measurement of memory. Shows itself as a table with ratios to the baseline.

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

    rows: tuple[MemoryRow, ...]
    baseline: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", rows_of(self.rows, MemoryRow))
        string("baseline", self.baseline)

    def select(self, *, kernel: str | None = None, size: Mapping[str, int] | None = None) -> Memory:
        """Keep the rows of one kernel or size, and the baseline.

        Raises:
            InputError: a label that is no string, or a size that is no dict.
        """
        select_text("kernel", kernel)
        size = None if size is None else size_of(size)
        kept = (row for row in self.rows if kernel in (None, row.kernel) and size in (None, row.size))
        return Memory(tuple(kept), self.baseline)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Labels, the baseline first, then in the order of the rows."""
        labels = dict.fromkeys(row.kernel for row in self.rows)
        return tuple(sorted(labels, key=lambda label: label != self.baseline))

    @property
    def sizes(self) -> tuple[dict[str, int], ...]:
        """The sizes in the order of the rows."""
        return tuple(dict(items) for items in dict.fromkeys(tuple(row.size.items()) for row in self.rows))

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
                    where = f" at {row.size_text}" if len(self.sizes) > 1 else ""
                    lines.append(
                        f"{kernel} holds {three(held)}x of what {self.baseline} holds, and peaks at {three(peak)}x{where}"
                    )
            lines += [f"{kernel} keeps {bytes_text(row.left)} for good at {row.size_text}" for row in rows if row.left]
        return "\n".join(lines) or ("nothing to compare with" if self.rows else "nothing was measured")

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, strings and numbers; `from_dict` is the way back."""
        return {"format": _FORMAT, "baseline": self.baseline, "rows": [asdict(row) for row in self.rows]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Memory:
        """Rebuild what `to_dict` gave.

        Raises:
            InputError: the data does not come from `to_dict`.
        """
        rows, baseline = rows_from(data, MemoryRow, form=_FORMAT, what="a measurement of memory")
        return cls(rows, baseline)

    def conditions(self, separator: str = ", ") -> str:
        """Name what the bytes depend on in one line: threads (each may take scratch memory), torch, processor."""
        string("separator", separator)
        texts = [
            " or ".join(dict.fromkeys(f"{row.threads} thread{'s' * (row.threads != 1)}" for row in self.rows)),
            " or ".join(dict.fromkeys(f"torch {row.torch}" for row in self.rows if row.torch)),
            " or ".join(dict.fromkeys(row.cpu for row in self.rows if row.cpu)),
        ]
        return separator.join(filter(None, texts))

    @property
    def title(self) -> str:
        """What was measured, without the sizes: `lltm, float32, cpu, 4 layers`."""
        first = self.rows[0]
        layers = f", {first.depth} layers" if first.depth > 1 else ""
        return f"{first.op}, {first.dtype}, {first.device}{layers}"

    def __str__(self) -> str:
        if not self.rows:
            return "Memory: nothing was measured"
        body: list[tuple[str, ...]] = []
        for size, found in self.cases().items():
            body += [(size,), *((f"  {cell[0]}", *cell[1:]) for _, cell in found)]
        head = ("", *_COLUMNS[1:])
        table = [line for line in (head, *body) if len(line) > 1]
        widths = [max(len(line[column]) for line in table) for column in range(len(head))]
        lines = [
            "  ".join(text.ljust(n) for text, n in zip(line, widths, strict=False)).rstrip() for line in (head, *body)
        ]
        return "\n".join([self.caption, "", *lines, "", *self._warnings(), self.conditions()])

    __repr__ = __str__

    @property
    def caption(self) -> str:
        """The title, and how to read the columns."""
        return f"{self.title}: memory above inputs and parameters, and the ratio to {self.baseline}"

    def _warnings(self) -> list[str]:
        return [line for line in self.verdict().split("\n") if " for good " in line]

    def cases(self) -> dict[str, list[tuple[MemoryRow, tuple[str, ...]]]]:
        """Return each row with its cells of the table, by size, the baseline first."""
        cases: dict[str, list[tuple[MemoryRow, tuple[str, ...]]]] = {}
        for row in sorted(self.rows, key=lambda row: self.kernels.index(row.kernel)):
            held, peak = (
                bytes_text(getattr(row, what))
                + ("" if (found := self.ratio(row, what)) is None else f"  {three(found)}x")
                for what in ("held", "peak")
            )
            cases.setdefault(row.size_text, []).append((row, (row.kernel, held, bytes_text(row.outputs), peak)))
        return cases


def bytes_text(count: float) -> str:
    """Write a number of bytes with three digits, in MiB, or in KiB below a tenth of one.

    Example:
        >>> bytes_text(400), bytes_text(3_500_000), bytes_text(2**31)
        ('0.39 KiB', '3.34 MiB', '2048 MiB')
    """
    return f"{three(count / 2**20)} MiB" if abs(count) >= 2**20 / 10 else f"{three(count / 2**10)} KiB"
