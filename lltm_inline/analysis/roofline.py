"""How far kernels are from what the machine can do: operations a second against operations a byte (a roofline)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ..base.above import Shown
from ..base.arguments import plural, refusal
from ..base.device import DEVICES
from ..base.progress import Progress
from ..errors import InputError
from ..measure.machine import machine
from ..tables.timings import Row, Timings
from ..tables.words import BEYOND_MEMORY, three
from .roofs import Level, Roofs, roofs


@dataclass(frozen=True)
class Roofline(Shown):
    """Timings under the roofs of the machine.

    Attributes:
        timings: those rows of them whose op declares its cost.
        roofs: with one thread, and with as many as the timings had; of a GPU one.
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
        return (row.gflop_per_s or 0) * 1e9 / self.roofs[-1].at(intensity(row), self.level_of(row))

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
            told += f", {rate / memory.rate:.0%} of what memory gives, but its data have room in {level.name}"
        by_memory = intensity(row) * level.rate < roofs.flops
        above = f"bytes from {level.name}" if by_memory else "arithmetic"
        return f"{told}; {self.share(row):.0%} of the roof above it, {above}{self._of_one_thread(row, level)}"

    def _of_one_thread(self, row: Row, level: Level) -> str:
        """Say how much of one thread's roof it reached, where that is possible: a kernel may run on one of several."""
        one = self.roofs[0]
        near = next((each for each in one.levels if each.name == level.name), one.levels[-1])
        share = (row.gflop_per_s or 0) * 1e9 / one.at(intensity(row), near)
        possible = len(self.roofs) > 1 and share <= BEYOND_MEMORY
        return f" ({share:.0%} of the roof of one thread)" if possible else ""

    def verdict(self) -> str:
        """Say of each row what it reached, and which roof is above it."""
        return "\n".join(f"{row.kernel}, {self.timings.case(row)}: {self.words(row)}" for row in self.timings.rows)

    def ceilings(self) -> Iterator[tuple[str, ...]]:
        """Yield the roofs as rows of a table: with how many threads, operations a second, bytes a second of each level."""
        for each in self.roofs:
            yield (
                plural(each.threads, "thread") if each.threads else each.name,
                f"{_giga(each.flops)} GFLOP/s",
                *(f"{level.name} {_giga(level.rate)} GB/s" for level in each.levels),
            )

    @property
    def title(self) -> str:
        """What was timed, and on what."""
        return f"{self.timings.rows[0].subject}: under the roofs of {self.roofs[-1].name}"

    def points(self) -> Iterator[tuple[str, ...]]:
        """Yield each row as texts: operations a byte, operations a second."""
        for row in self.timings.rows:
            yield f"{three(intensity(row))} FLOP/byte", f"{three(row.gflop_per_s or 0)} GFLOP/s"

    def __str__(self) -> str:
        rows = [self.title, *("  " + ", ".join(each) for each in self.ceilings())]
        rows.append(f"  memory is the lower roof below {three(self.ridge)} FLOP/byte")
        for row, point in zip(self.timings.rows, self.points(), strict=True):
            rows += ["", f"{row.kernel}, {self.timings.case(row)}: {', '.join(point)}", f"  {self.words(row)}"]
        return "\n".join(rows)

    __repr__ = __str__


def intensity(row: Row) -> float:
    """Return the operations a byte of a row, as its op declares them."""
    return (row.gflop_per_s or 0) / (row.gb_per_s or 1)


def _giga(number: float) -> str:
    return three(number / 1e9)


def roofline(timings: Timings, *, progress: Progress | bool | None = None) -> Roofline:
    """Put timings under the roofs of this machine: what its arithmetic and each level of its memory allow.

    A kernel that does few operations a byte can be no faster than its data come. The roofs are measured here, the first time
    in about three seconds, with one thread and with as many as the timings had; the cache keeps them. On a GPU they are those
    of PyTorch's copies and GEMM.

    Args:
        timings: what `benchmark` gave, of an op that declares its cost, on this machine.
        progress: as for `build`.

    Returns:
        A Roofline: it says of each row what it reached and of what, and `plot` draws it.

    Raises:
        InputError: no row has a cost, or they come from another machine.
        BuildError, ToolchainError: the helper that measures cannot be built.

    Example:
        >>> from lltm_inline.measure.benchmark import benchmark
        >>> found = roofline(benchmark("axpy/cpp", [(4096,)], directions=["forward"], seconds=0.01, check=False))
        >>> [level.name for level in found.roofs[-1].levels][-1], found.ridge > 0
        ('memory', True)
    """
    if not isinstance(timings, Timings):
        raise refusal("timings", timings, "what benchmark gave")
    rows = tuple(row for row in timings.rows if row.gflop_per_s and row.gb_per_s)
    if not rows:
        lacks = [
            f"op {row.op!r} declares no cost in operations and bytes: give it Op(cost=...)" for row in timings.rows
        ]
        raise InputError(f"nothing to put under a roof: {lacks[0] if lacks else 'nothing was timed'}")
    device, cpu, dtype = rows[0].device, rows[0].cpu, getattr(torch, rows[0].dtype)
    here = machine(device).cpu
    if any(row.cpu != here for row in rows):
        raise InputError(
            f"these were timed on {cpu or 'an unknown machine'}, and this is {here}: its roofs are others. Time them here"
        )
    threads = [0] if DEVICES[device].needs_gpu else sorted({1, max(row.threads for row in rows)})
    return Roofline(Timings(rows, timings.baseline), tuple(roofs(dtype, count, device, progress) for count in threads))
