"""What this machine can do at most, measured: operations a second, and bytes a second from each level of its memory.

It takes two seconds, once for a processor and a number of threads; then the cache has it. What others do meanwhile can only make
a roof lower: where they did much, the roofs are measured anew the next times, and the higher ones are kept.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

import torch

from ..base.device import DEVICES
from ..base.progress import Progress
from ..compiling import cache
from ..measure.machine import crowd, fastest, machine
from ..run.compare import dtype_name
from ..run.library import load_helper
from ..tables.words import BEYOND_MEMORY, CROWD

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
