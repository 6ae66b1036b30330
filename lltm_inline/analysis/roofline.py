"""How far kernels are from what the machine can do: operations a second against operations a byte (a roofline)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from ..base.above import Shown
from ..base.arguments import plural, require
from ..base.device import DEVICES
from ..base.progress import Progress
from ..errors import InputError, UnknownKernelError
from ..measure.machine import machine
from ..model.registry import registry
from ..tables.timings import Row, Timings
from ..tables.words import BEYOND_MEMORY, percent, three
from .reasons import extents, has_threads
from .roofs import Level, Roofs, roofs

_ASSUMED = (
    "op {!r} declares no cost: each input and each result counts once here, and no operations. A tensor that is read in part counts "
    "too much, and where arithmetic is the limit, that is not seen. Op(cost=...) says it better"
)
_DISTURBED = "other programs were at work while the roofs were measured: they may be higher"


@dataclass(frozen=True)
class Roofline(Shown):
    """Timings compared with the roofline of the machine.

    Attributes:
        timings: the rows whose cost is known: declared by the op or, for forward, taken from its inputs and results.
        roofs: with one thread, and with as many as the timings had; for a GPU, just one.
    """

    timings: Timings
    roofs: tuple[Roofs, ...]

    @property
    def ridge(self) -> float:
        """From so many operations a byte on, arithmetic and no longer memory is the lower roof."""
        top = self.roofs[-1]
        return top.flops / top.levels[-1].rate

    def level_of(self, row: Row) -> Level:
        """Return the level of the memory in which the data of a row may lie, and not below: as many as there are, as fast as they came."""
        rate = (row.gb_per_s or 0) * 1e9
        return self.roofs[-1].level_of(rate, rate * row.median)

    def share(self, row: Row) -> float:
        """Return how much a row reached of what the roofs allow, with its data in that level."""
        return _share(row, self.roofs[-1], self.level_of(row))

    def words(self, row: Row) -> str:
        """Say what a row reached, where its data may have been, and which roof is above it."""
        roofs, level, rate = self.roofs[-1], self.level_of(row), (row.gb_per_s or 0) * 1e9
        memory = roofs.levels[-1]
        told = f"{_giga(rate)} GB/s"
        if rate > BEYOND_MEMORY * level.rate:
            return f"{told}, more than {level.name} gives: the kernel cannot have moved all that its op declares"
        if rate > BEYOND_MEMORY * memory.rate:
            told += (
                f", {three(rate / memory.rate)} times what memory gives: its data lie in {level.name}, at least in part"
            )
        elif level is not memory:
            told += f", {percent(rate / memory.rate)} of what memory gives, but its data fit in {level.name}"
        by_memory = not row.gflop_per_s or intensity(row) * level.rate < roofs.flops
        above = f"bytes from {level.name}" if by_memory else "arithmetic"
        return f"{told}; {percent(self.share(row))} of the roof above it, {above}{self._of_one_thread(row, level)}"

    def _of_one_thread(self, row: Row, level: Level) -> str:
        """Say how much of one thread's roof it reached, where that is possible: a kernel may use one of several. Its text may say so."""
        one = self.roofs[0]
        near = next((each for each in one.levels if each.name == level.name), one.levels[-1])
        share = _share(row, one, near)
        possible = len(self.roofs) > 1 and share <= BEYOND_MEMORY
        why = ", and its loops use no other: no at::parallel_for in the text" if _is_serial(row.kernel) else ""
        return f" ({percent(share)} of the roof of one thread{why})" if possible else ""

    def verdict(self) -> str:
        """Say of each row what it reached, and which roof is above it."""
        return "\n".join(f"{row.kernel}, {self.timings.case(row)}: {self.words(row)}" for row in self.timings.rows)

    @property
    def finding(self) -> str:
        """Which row is nearest to its roof, in one sentence."""
        best = max(self.timings.rows, key=self.share)
        return f"Nearest to its roof: {best.kernel}, {self.timings.case(best)}: {self.words(best)}"

    def ceilings(self) -> Iterator[tuple[str, ...]]:
        """Yield the roofs as rows of a table: with how many threads, operations a second, bytes a second of each level."""
        for each in self.roofs:
            yield (
                plural(each.threads, "thread") if each.threads else each.name,
                f"{_giga(each.flops)} GFLOP/s",
                *(f"{level.name} {_giga(level.rate)} GB/s" for level in each.levels),
            )

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why a share may not be what it seems: a cost that nobody declared, roofs that were measured while others were at work."""
        ops = dict.fromkeys(row.op for row in self.timings.rows if not row.gflop_per_s)
        disturbed = any(each.disturbed for each in self.roofs)
        return (*map(_ASSUMED.format, ops), *[_DISTURBED] * disturbed)

    @property
    def title(self) -> str:
        """What was timed, and on what."""
        return f"{self.timings.rows[0].subject}: under the roofs of {self.roofs[-1].name}"

    def points(self) -> Iterator[tuple[str, ...]]:
        """Yield each row as texts: operations a byte, operations a second."""
        for row in self.timings.rows:
            known = f"{three(intensity(row))} FLOP/byte", f"{three(row.gflop_per_s or 0)} GFLOP/s"
            yield known if row.gflop_per_s else ("operations not known", "")

    def __str__(self) -> str:
        rows = [self.title, *("  " + ", ".join(each) for each in self.ceilings())]
        rows.append(f"  memory is the lower roof below {three(self.ridge)} FLOP/byte")
        rows += [f"  {doubt}" for doubt in self.doubts]
        for row, point in zip(self.timings.rows, self.points(), strict=True):
            known = ", ".join(filter(None, point))
            rows += ["", f"{row.kernel}, {self.timings.case(row)}: {known}", f"  {self.words(row)}"]
        return "\n".join(rows)

    __repr__ = __str__


def _share(row: Row, roofs: Roofs, level: Level) -> float:
    """Return how much a row reached of what roofs allow with its data in a level: of the bytes alone where no operations are known."""
    if not row.gflop_per_s:
        return (row.gb_per_s or 0) * 1e9 / level.rate
    return row.gflop_per_s * 1e9 / roofs.at(intensity(row), level)


def _with_bytes(row: Row) -> Row:
    """Count each input and each result of forward once, where the op does not say what it moves, and where the size tells their shapes."""
    op = registry.ops.get(row.op)
    if row.gb_per_s or row.direction != "forward" or op is None or op.untold:
        return row
    tensors, sizes = (*op.signature.tensors, *op.signature.results), op.named(tuple(row.size.values()))
    if any(a.is_list for a in op.signature.inputs) or any(op.shape_of[a.name].numbers for a in tensors if a.is_tensor):
        return row
    usual = getattr(torch, row.dtype).itemsize
    bytes_ = sum(
        math.prod(op.shape_of[a.name](sizes)) * (getattr(torch, a.dtype).itemsize if a.dtype else usual)
        for a in tensors
        if a.is_tensor
    )
    return replace(row, gb_per_s=bytes_ / row.median / 1e9, gflop_per_s=0.0)


def _is_serial(label: str) -> bool:
    """Tell whether a kernel has loops of its own, in C++, and hands nothing to threads."""
    try:
        text = registry.revision_of(label).cpp
    except UnknownKernelError:  # of another session
        return False
    return bool(text and extents(text)) and not has_threads(text)


def intensity(row: Row) -> float:
    """Return the operations a byte of a row, as its op declares them."""
    return (row.gflop_per_s or 0) / (row.gb_per_s or 1)


def _giga(number: float) -> str:
    return three(number / 1e9)


def roofline(timings: Timings, *, progress: Progress | bool | None = None) -> Roofline:
    """Compare timings with the roofline of this machine: what its arithmetic and each level of its memory allow.

    A kernel with few operations per byte can be no faster than its data arrive. The roofs are measured here, the first time
    in about three seconds, with one thread and with as many as the timings had; the cache keeps them. On a GPU they are those
    of PyTorch's copies and GEMM.

    Args:
        timings: what `benchmark` returned, on this machine. If an op declares no cost, each input and each result of forward
            counts once, and no operations.
        progress: as for `build`.

    Returns:
        A Roofline: it says for each row what it reached of which roof, and `plot` draws it.

    Raises:
        InputError: no row has a known cost, or the timings come from another machine.
        BuildError, ToolchainError: the helper that measures cannot be built.

    Example:
        >>> from lltm_inline.measure.benchmark import benchmark
        >>> found = roofline(benchmark("axpy/cpp", [(4096,)], directions=["forward"], seconds=0.01, check=False))
        >>> [level.name for level in found.roofs[-1].levels][-1], found.ridge > 0
        ('memory', True)
    """
    require(isinstance(timings, Timings), "timings", timings, "what benchmark gave")
    rows = tuple(row for row in map(_with_bytes, timings.rows) if row.gb_per_s)
    if not rows:
        cure = "declares no cost in operations and bytes: give it Op(cost=...)"
        why = f"op {timings.rows[0].op!r} {cure}" if timings.rows else "nothing was timed"
        raise InputError(f"nothing to put under a roof: {why}")
    device, cpu, dtype = rows[0].device, rows[0].cpu, getattr(torch, rows[0].dtype)
    here = machine(device).cpu
    if any(row.cpu != here for row in rows):
        there = cpu or "an unknown machine"
        raise InputError(f"these were timed on {there}, and this is {here}: its roofs are others. Time them here")
    threads = [0] if DEVICES[device].needs_gpu else sorted({1, max(row.threads for row in rows)})
    return Roofline(Timings(rows, timings.baseline), tuple(roofs(dtype, count, device, progress) for count in threads))
