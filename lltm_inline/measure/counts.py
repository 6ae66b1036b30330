"""What the launches of CUDA kernels ask of the memory, counted on the CPU: exact, and the same on every machine.

1. The text is compiled as it is written, without optimisation, and checked while it runs: a launch that is out of bounds, or has a
   race, is an error and no count.
2. Every kernel is compared with the reference at each size, and then called once: forward, then backward.
3. `cuda_cpu/counts.h` puts the accesses of threads together to those of warps; here addresses of code become lines of the text.
"""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import torch

from ..autopsy.symbolize import lines_of
from ..base.device import DEVICES
from ..base.progress import say, showing
from ..checking.postmortem import carried_out
from ..compiling.toolchain import find_toolchain, is_old_gcc
from ..errors import ToolchainError
from ..model.outcomes import noting
from ..model.registry import Kernel
from ..run.built import Built
from ..run.cases.case import size_text
from ..run.executor import Task, prepare
from ..run.function import Function, as_tuple
from ..run.library import load_all
from ..run.setting import CountOptions, Setting, choose_baseline, choose_kernels, choose_sizes, require_timing, takes
from ..source.template import devices_of, require_text
from ..tables.counts import Counts, CountsRow
from ..workers import steps
from ..workers.limits import Limits
from .audit import Auditor
from .inputs import Ring
from .machine import subject

#: The one device that counts.
DEVICE = next(name for name, device in DEVICES.items() if device.count_flags)
#: clang leaves out what it can work out later; the way of each thread is looked at while it runs.
_CLANG = ("-fsanitize-coverage=no-prune",)


@takes(CountOptions)
def counts(
    kernels: Sequence[Kernel | str] | Kernel | str,
    sizes: Sequence[Sequence[int] | Mapping[str, int]] | None = None,
    *,
    baseline: Kernel | str | None = None,
    dtype: torch.dtype = torch.float32,
    **options: Unpack[CountOptions],
) -> Counts:
    """Count the memory accesses of CUDA launches: no GPU is needed, and no time is measured.

    It counts, for each line of the source:

    - loads, stores and atomics of global and of shared memory, by threads and by warps;
    - the 32-byte sectors that a warp's loads and stores of global memory take;
    - the passes that those of shared memory take: in each pass, one of 32 banks delivers one word of 4 bytes;
    - the turns that lanes wait for each other in atomics; barriers;
    - branches at which lanes of a warp diverge; each `&&`, `||` and `?:` is its own branch.

    Every load in the source counts; nvcc may make fewer. Caches are not modelled. Constant memory, local arrays and ATen's
    own functions do not count. The counts are the same with any compiler.

    Args:
        kernels: labels or kernels, all of one op, with CUDA source.
        sizes: tuples in the order of the op's letters, or dicts by letter; default: the first of the op's own.
        baseline: what ratios are counted against; default: the first kernel.
        dtype: of the floating-point inputs.
        options: of `Setting`, by name.

    Returns:
        Counts with one row for each line that does something in a launch.

    Raises:
        CheckError: a kernel is wrong; nothing of it is counted.
        DefinitionError: a kernel has no CUDA source.
        CrashError: a kernel took the worker down; TimeoutError: it did not come back in time.
        ToolchainError: no compiler, a g++ before 12, or no tool that finds the line of an address.
        BuildError, InputError, UnknownKernelError: as for `memory`.

    Example:
        >>> c = counts("axpy/cuda", [(1024,)], progress=False)
        >>> forward = c.select(direction="forward")
        >>> forward.total("load", "accesses"), forward.total("load", "requests"), forward.total("load")
        (2048, 64, 256)
    """
    setting = Setting.of(counts, options)
    require_timing(dtype=dtype, check=True)
    chosen, op = choose_kernels(kernels, verb="count", done="counted")
    cases = tuple(choose_sizes(op, op.benchmark_sizes[:1] if sizes is None and op.benchmark_sizes else sizes))
    for kernel in chosen:
        require_text(kernel, DEVICE, cure=False)  # there is no other device that counts
    against = chosen[0].label if baseline is None else choose_baseline(chosen, baseline)
    setting = counting(setting, "counts")
    with showing(f"counts of {op.name}", setting.progress, len(chosen) * (1 + len(cases))) as show:
        with noting(chosen):
            built = prepare(chosen, replace(setting, progress=show))
        return Counts(carried_out(Counting(built, cases, dtype), setting, show), against)


def counting(setting: Setting, verb: str) -> Setting:
    """Return the setting in which texts count: its device, flags and limits.

    Raises:
        ToolchainError: the compiler does not tell which branches are taken.
    """
    toolchain, flags = find_toolchain(setting.compiler), DEVICES[DEVICE].count_flags
    if is_old_gcc(toolchain.kind, toolchain.version):
        raise ToolchainError(
            f"li.{verb} needs g++ 12 or newer, or clang++: {toolchain.version} does not tell which branches are taken. Install one, "
            "and name it: compiler='clang++'"
        )
    limits = setting.limits or Limits(seconds=DEVICES[DEVICE].watched_seconds)
    return replace(setting, device=DEVICE, cflags=(*flags, *_CLANG * (toolchain.kind == "clang")), limits=limits)


def can_count(kernel: Kernel) -> bool:
    """Tell whether a kernel has a text of which `counts` can say anything.

    Example:
        >>> from lltm_inline import registry
        >>> can_count(registry["axpy/cuda"]), can_count(registry["axpy/cpp"])
        (True, False)
    """
    return kernel.python is None and DEVICE in devices_of(kernel)


@dataclass(frozen=True)
class Counting(Task):
    """The counts of kernels, see `counts`."""

    sizes: tuple[tuple[int, ...], ...]
    dtype: torch.dtype

    def run(self) -> tuple[CountsRow, ...]:
        """Load the kernels and count at every size."""
        functions = load_all(self.built)
        rows: list[CountsRow] = []
        for size in self.sizes:
            for built, function in zip(self.built, functions, strict=True):
                rows += self._count(built, function, size)
                say(f"counted {function.kernel.label} at {size_text(function.op, size)}", 1)
        return tuple(rows)

    def _count(self, built: Built, function: Function, size: tuple[int, ...]) -> list[CountsRow]:
        """Compare a kernel with the reference, then call it once and take the counts of each direction."""
        where, label = size_text(function.op, size), function.kernel.label
        ring = Ring(function.op, size, dtype=self.dtype, device=function.device)
        assert function.interface is not None  # it has a text
        gradients = bool(ring.names) and function.interface.has_backward
        Auditor(function.op, ring, where, gradients=gradients, done="counted").before(label, function, times=1)
        [one] = ring.refill(1)
        counter = Counter(built)
        counter.take()
        with torch.set_grad_enabled(gradients), steps.step("forward", label, lambda: (where, ring.describe())):
            results = as_tuple(function(*one.inputs))
        found = {"forward": counter.take()}
        if gradients:
            with steps.step("backward", label, lambda: (where, ring.describe())):
                torch.autograd.grad([results[i] for i in ring.differentiable], one.wanted, one.grads, allow_unused=True)
            found["backward"] = counter.take()
        columns, rows = subject(function, size, self.dtype), {how: counter.rows(found[how]) for how in found}
        return [CountsRow(**columns, direction=how, **row) for how, each in rows.items() for row in each]


class Counter:
    """Reads what a library has counted and traced."""

    def __init__(self, built: Built) -> None:
        assert built.library is not None
        self.path, self.name = built.library.path, built.kernel.name
        library = ctypes.CDLL(str(self.path))
        self._take, self._trace = library.cuda_cpu_counts, library.cuda_cpu_trace
        self._take.restype, self._trace.argtypes = ctypes.c_char_p, [ctypes.c_int64] * 7

    def trace(self, most: int, block: Sequence[int], thread: Sequence[int]) -> None:
        """Trace from now on, see `Wanted` in `cuda_cpu/counts.h`."""
        self._trace(most, *block, *thread)

    def take(self) -> list[dict[str, Any]]:
        """Return the launches since the last time."""
        launches: list[dict[str, Any]] = json.loads(self._take())
        return launches

    def add_lines(self, launches: Sequence[Mapping[str, Any]]) -> None:
        """Give each site its line of the text: None in a function of ours."""
        lines = lines_of((at for launch in launches for site in launch["sites"] for at in site["calls"]), self.path)
        if not lines and any(launch["sites"] for launch in launches):
            need = "addr2line (of binutils) or llvm-symbolizer"
            raise ToolchainError(f"counts and traces name lines, for which {need} must work here")
        texts = (self.name, f"{self.name} (cuda)")
        for site in (site for launch in launches for site in launch["sites"]):
            own = [place.line for at in site.pop("calls") if (place := lines.get(at)) and place.file in texts]
            site["line"] = own[-1] if own else None

    def rows(self, launches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Make the columns of rows: one for each launch, its barriers, and each line that does something to an array."""
        self.add_lines(launches)
        rows = []
        for number, launch in enumerate(launches, 1):
            grid, block = tuple(launch["grid"]), tuple(launch["block"])
            here = {"launch": number, "function": launch["kernel"], "grid": grid, "block": block}
            none = {"array": "", "width": 0, "transactions": 0, "least": 0}
            started = ("launch", launch["line"], math.prod(grid)), ("barrier", 0, launch["barriers"])
            for what, line, count in started[: 1 + bool(launch["barriers"])]:
                accesses = count * math.prod(block)
                rows.append(here | none | {"what": what, "line": line, "requests": count, "accesses": accesses})
            for site in launch["sites"]:
                if site["line"] is None and site["what"] == "divergent branch":
                    continue  # in a function of ours, which a GPU has as an instruction
                site |= {"line": site["line"] or 0, "requests": site.pop("times")}
                rows.append(here | site)
        return _merged(rows)


def _merged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add up what one line does to one array at several places of the code: `s[i] += s[j]`, a template, a macro."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("launch", "line", "what", "array", "width"))
        before = merged.setdefault(key, row)
        if before is not row:
            if row["worst"] > before["worst"]:
                before |= {name: row[name] for name in ("worst", "lanes")}
            before |= {name: before[name] + row[name] for name in ("accesses", "requests", "transactions", "least")}
            before["most"] = max(before["most"], row["most"])
    return [{name: value for name, value in row.items() if name not in ("worst", "seen")} for row in merged.values()]
