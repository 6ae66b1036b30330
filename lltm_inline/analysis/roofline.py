"""How far kernels are from what the machine can do: operations a second against operations a byte (a roofline).

What it can do at most is measured: operations a second, and bytes a second from each level of its memory. That takes two seconds, once
for a processor and a number of threads; then the cache has it. What others do meanwhile can only make a roof lower: where they did
much, the roofs are measured anew the next times, and the higher ones are kept.
"""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

import torch

from ..base.above import Shown
from ..base.arguments import plural, require
from ..base.device import DEVICES
from ..base.progress import Progress
from ..compiling import cache
from ..errors import InputError, UnknownKernelError
from ..measure.machine import crowd, fastest, machine
from ..model.registry import registry
from ..run.compare import dtype_name
from ..run.library import load_helper
from ..tables.timings import Row, Timings
from ..tables.words import BEYOND_MEMORY, CROWD, percent, three
from .reasons import extents, has_threads

_ASSUMED = (
    "op {!r} declares no cost: each input and each result counts once here, and no operations. A tensor that is read in part counts "
    "too much, and where arithmetic is the limit, that is not seen. Op(cost=...) says it better"
)
_DISTURBED = "other programs were at work while the roofs were measured: they may be higher"
_FUNCTIONS = {
    "roofs_flops": (ctypes.c_double, ctypes.c_int, ctypes.c_int, ctypes.c_double),
    "roofs_bytes": (ctypes.c_double, ctypes.c_int64, ctypes.c_int, ctypes.c_double),
}
#: For each measurement; to go through memory once takes a tenth of that.
_SECONDS = {"memory": 0.5}
_SHORT = 0.12
#: How often they are measured where others are always at work.
_MOST = 4
_KIB, _MIB = 2**10, 2**20
#: Where the system does not say: those of a usual processor, by level.
_USUAL = {1: 32 * _KIB, 2: _MIB, 3: 16 * _MIB}
_CPUS = Path("/sys/devices/system/cpu/cpu0/cache")
#: What a GPU's copies are of: one that stays in its cache, and one that does not.
_GPU_BYTES = {"L2": 8 * _MIB, "memory": 512 * _MIB}
_GPU_GEMM = 4096
#: What is more than this share of a cache does not stay in it: code, and whatever else runs, lie there as well.
_ROOMY = 2 / 3


@dataclass(frozen=True)
class Level:
    """A level of the memory.

    Attributes:
        name: `L1`, `L2`, `L3` or `memory`.
        rate: bytes a second, read plus written.
        room: bytes that all threads together have in it; 0 for memory, and where it is not known.
    """

    name: str
    rate: float
    room: int = 0


@dataclass(frozen=True)
class Roofs:
    """What a machine can do at most with so many threads.

    Attributes:
        name: of the processor, or of the GPU.
        threads: at work; 0 for a GPU.
        dtype: of the operations.
        flops: operations a second: an addition and a multiplication in one count as two.
        levels: of the memory, the fastest first.
        disturbed: how often they were measured, each time with others at work; 0 once there were none.
    """

    name: str
    threads: int
    dtype: str
    flops: float
    levels: tuple[Level, ...]
    disturbed: int = 0

    def at(self, intensity: float, level: Level | None = None) -> float:
        """Return the operations a second that a kernel can reach which does so many a byte, with its data in a level (memory)."""
        return min(self.flops, intensity * (level or self.levels[-1]).rate)

    def level_of(self, rate: float, moved: float) -> Level:
        """Return the slowest level in which data may lie that are so many bytes, and come at so many a second, about."""
        near = next((at for at, level in enumerate(self.levels) if _ROOMY * level.room >= moved), len(self.levels) - 1)
        return next((level for level in self.levels[near::-1] if BEYOND_MEMORY * level.rate >= rate), self.levels[0])


def roofs(dtype: torch.dtype, threads: int, device: str = "cpu", progress: Progress | bool | None = None) -> Roofs:
    """Return the roofs of this machine, measured now unless the cache has them, or has them from when others were at work.

    Args:
        dtype: of the operations.
        threads: at work, on a CPU; 0 for a GPU.
        device: on which.
        progress: as for `build`, where the helper has to be built.
    """
    name, on_gpu = machine(device).cpu, DEVICES[device].needs_gpu
    key = cache.digest("roofs 3", name, str(threads), dtype_name(dtype))
    store = cache.cache_dir() / "toolchains" / f"roofs-{key}.json"
    known = _kept(store)
    if known is not None and known.disturbed in (0, _MOST):
        return known
    found = _of_gpu(name, dtype, device) if on_gpu else _of_cpu(name, dtype, threads, progress)
    found = found if known is None else _higher(known, found)
    cache.write_whole(store, json.dumps(asdict(found)))
    return found


def _kept(store: Path) -> Roofs | None:
    try:
        known = json.loads(store.read_text())
        return Roofs(**{**known, "levels": tuple(Level(**level) for level in known["levels"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _higher(known: Roofs, found: Roofs) -> Roofs:
    """Take the higher of each of two measurements."""
    before = {level.name: level.rate for level in known.levels}
    levels = tuple(replace(level, rate=max(level.rate, before.get(level.name, 0))) for level in found.levels)
    disturbed = found.disturbed and known.disturbed + 1
    return replace(found, flops=max(known.flops, found.flops), levels=levels, disturbed=disturbed)


def _of_cpu(name: str, dtype: torch.dtype, threads: int, progress: Progress | bool | None) -> Roofs:
    library = load_helper("roofs", _FUNCTIONS, progress=progress)
    others = crowd()
    flops = library.roofs_flops(dtype == torch.float64, threads, _SHORT)
    levels = []
    for level, bytes_ in working_sets(caches(), threads):
        rate = library.roofs_bytes(bytes_, threads, _SECONDS.get(level, _SHORT))
        levels.append(Level(level, rate, 0 if level == "memory" else 2 * bytes_ * threads))
    return Roofs(name, threads, dtype_name(dtype), flops, tuple(levels), int(others() > CROWD))


def caches(place: Path = _CPUS) -> tuple[int, ...]:
    """Return the sizes of the caches for data, the smallest first; usual ones where the system does not say."""
    found: dict[int, int] = {}
    for index in place.glob("index*"):
        try:
            kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
            if kind != "Instruction":
                found[int(level)] = int(size.rstrip("KM")) * (_MIB if size.endswith("M") else _KIB)
        except (OSError, ValueError):
            continue
    return tuple(size for _, size in sorted((found or _USUAL).items()))


def working_sets(caches: Sequence[int], threads: int) -> list[tuple[str, int]]:
    """Say on how many bytes each thread works, so that they lie in a level; the last cache is shared by all.

    Example:
        >>> working_sets((32 * 2**10, 2**20, 32 * 2**20), 2)
        [('L1', 16384), ('L2', 524288), ('L3', 8388608), ('memory', 67108864)]
    """
    last = len(caches) - 1
    sets = [(f"L{number + 1}", size // 2 // (threads if number == last else 1)) for number, size in enumerate(caches)]
    # Where the last cache is large and threads are many, a thread's share of it is no more than what its own caches hold.
    sets = [sets[0], *(each for before, each in pairwise(sets) if each[1] > before[1])]
    return [*sets, ("memory", max(4 * caches[-1], 64 * _MIB) // threads)]


def _of_gpu(name: str, dtype: torch.dtype, device: str) -> Roofs:
    """Measure copies and a GEMM of PyTorch's: no kernel of ours is needed, and a GEMM comes near to what a GPU can do."""
    levels = []
    for level, bytes_ in _GPU_BYTES.items():
        source = torch.ones(bytes_ // 2 // dtype.itemsize, dtype=dtype, device=device)
        target = torch.empty_like(source)
        levels.append(Level(level, bytes_ / fastest(lambda t=target, s=source: t.copy_(s), device)))  # type: ignore[misc]
    a, b = torch.ones(2, _GPU_GEMM, _GPU_GEMM, dtype=dtype, device=device)
    return Roofs(name, 0, dtype_name(dtype), 2 * _GPU_GEMM**3 / fastest(lambda: torch.mm(a, b), device), tuple(levels))


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
