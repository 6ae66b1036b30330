"""Memory of kernels of one op beside each other: what is held for backward, and the peak over forward and backward.

What is done, and why:

1. Every kernel is checked before it is measured, and compared with the reference at each size, which also warms it up.
2. Inputs, parameters and incoming gradients are made before the meter starts: they do not count.
3. The meter counts every allocation (see `Meter`), so one pass is enough, and the same on every run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import torch

from ..base.device import DEVICES
from ..base.progress import Progress, say, showing
from ..checking.check import require_right
from ..checking.postmortem import carried_out
from ..compiling.compiler import Build
from ..errors import CheckError
from ..model.outcomes import noting
from ..model.registry import Kernel
from ..run.built import build_helper
from ..run.cases.case import size_text
from ..run.executor import Task, prepare
from ..run.function import Function
from ..run.library import load_all, load_helper
from ..run.setting import Options, Setting, choose_baseline, choose_kernels, choose_sizes, require_timing, takes
from ..tables.memory import Memory, MemoryRow
from ..workers import steps
from . import machine
from .audit import Auditor
from .inputs import Ring, Stack, layer_sizes
from .sample import no_collection

#: What the library defines: result and arguments.
_FUNCTIONS = {
    "meter_start": (ctypes.c_void_p, ctypes.c_int64),
    "meter_now": (ctypes.c_int64, ctypes.c_void_p),
    "meter_peak": (ctypes.c_int64, ctypes.c_void_p),
    "meter_stop": (None, ctypes.c_void_p),
}


@takes(Options)
def memory(
    kernels: Sequence[Kernel | str] | Kernel | str,
    sizes: Sequence[Sequence[int] | Mapping[str, int]] | None = None,
    *,
    baseline: Kernel | str | None = None,
    dtype: torch.dtype = torch.float32,
    depth: int = 1,
    check: bool = True,
    **options: Unpack[Options],
) -> Memory:
    """Measure the memory of kernels of one op, and compare them.

    On a CPU every allocation and release of PyTorch's allocator counts, with the bytes that were requested. That
    includes what oneDNN takes through PyTorch (reordered copies of images and weights). It does not include scratch memory
    that libraries allocate themselves (packed panels in the GEMMs of MKL, the internal scratch of oneDNN), memory from
    `new` and `malloc`, autograd's own nodes, and tensors made on threads that a kernel starts itself. On a GPU torch's
    statistics count, in which each block is rounded up to 512 bytes.

    Gradients are taken of the inputs in `op.parameters` (default: all tensors), for random gradients of the outputs.

    Args:
        kernels: labels (`"lltm/fused@2"`) or kernels, all of one op.
        sizes: tuples in the order of the op's letters, or dicts by letter; default: the op's own.
        baseline: what ratios are counted against; default: the reference if it is among the kernels, else the first.
        dtype: of the floating-point inputs.
        depth: number of layers. The first output of each is the first input of the next; each has its own parameters.
            `sizes` are those of the first layer.
        check: run the full `check` of every kernel first. Without it, only a quick comparison at every size remains.
        options: of `Setting`, by name.

    Returns:
        Memory with one row for each size and kernel, in bytes.

    Raises:
        CheckError: a kernel is wrong; nothing of it is reported.
        CrashError: a kernel took the worker down; TimeoutError: it did not come back in time.
        InputError: kernels of several ops, a size, depth or baseline that makes no sense, or a depth of more than 1
            where the op's first output cannot be its first input.

    Example:
        >>> m = memory("lltm/python", [(2, 3, 5)], check=False, progress=False)
        >>> [(row.kernel, row.outputs, row.left) for row in m.rows]  # new_h and new_cell: 2 * 2 * 5 floats
        [('lltm/python', 80, 0)]
    """
    setting = Setting.of(memory, options)
    require_timing(dtype=dtype, check=check)
    chosen, op = choose_kernels(kernels, verb="measure", done="measured")
    cases = tuple(choose_sizes(op, sizes))
    for size in cases:
        layer_sizes(op, size, depth)
    against = choose_baseline(chosen, baseline)
    total = len(chosen) * (1 + check) + len(cases) * len(chosen)
    with showing(f"memory of {op.name}", setting.progress, total) as show:
        with noting(chosen):
            built = prepare(chosen, replace(setting, progress=show), followed=check)
        meter = None if DEVICES[setting.device].needs_gpu else build_helper("meter", setting.compiler, show)
        if check:
            require_right(built, setting, show, done="measured")
        return Memory(carried_out(Measurement(built, cases, dtype, depth, meter), setting, show), against)


@dataclass(frozen=True)
class Measurement(Task):
    """Measurement of the memory of kernels, see `memory`."""

    sizes: tuple[tuple[int, ...], ...]
    dtype: torch.dtype
    depth: int
    meter: Build | None

    def run(self) -> tuple[MemoryRow, ...]:
        """Load the kernels and measure them at every size."""
        functions = load_all(self.built)
        rows = []
        for size in self.sizes:
            where = size_text(functions[0].op, size) + (f", {self.depth} layers" if self.depth > 1 else "")
            stack = self._stack(functions, size, where)
            for function in functions:
                say(f"measuring {function.kernel.label} at {where}")
                rows.append(self._row(function, stack, size, where))
                say(f"measured {function.kernel.label} at {where}", 1)
        return tuple(rows)

    def _stack(self, functions: Sequence[Function], size: tuple[int, ...], where: str) -> Stack:
        """Compare every kernel with the reference, and make what the measurement needs."""
        op, device = functions[0].op, functions[0].device
        auditor = Auditor(op, Ring(op, size, dtype=self.dtype, device=device), where, gradients=True, done="measured")
        for function in functions:
            auditor.before(function.kernel.label, function, times=1)
        return Stack(op, size, self.depth, dtype=self.dtype, device=device)

    def _row(self, function: Function, stack: Stack, size: tuple[int, ...], where: str) -> MemoryRow:
        """Run forward and backward once for warming up, then once under the meter.

        Raises:
            CheckError: the kernel failed, which it did not when it was compared.
        """
        label = function.kernel.label
        try:
            with steps.step("benchmark", label, lambda: (where, ())):
                stack.backward(stack.outputs(function))
                with no_collection(), Meter(function.device, self.meter) as meter:
                    outputs = stack.outputs(function)
                    held, own = meter.now, _bytes_of(outputs, stack)
                    gradients = stack.backward(outputs)
                    peak = meter.peak
                    del outputs, gradients
                    left = meter.now
        except Exception as error:
            raise CheckError(f"'{label}' failed at {where}: {error}\nIt was not measured.") from error
        columns = machine.columns(function, size, self.dtype)
        return MemoryRow(**columns, depth=self.depth, held=held, outputs=own, peak=peak, left=left)


def _bytes_of(outputs: Sequence[torch.Tensor], stack: Stack) -> int:
    """Count the memory of the outputs, each block once, and none that is an input's."""
    tensors = (item for layer in stack.layers for item in layer if isinstance(item, torch.Tensor))
    given = {item.untyped_storage().data_ptr() for item in tensors}
    blocks = {output.untyped_storage().data_ptr(): output.untyped_storage().nbytes() for output in outputs}
    return sum(size for block, size in blocks.items() if block not in given)


class Meter:
    """Counts the bytes of tensors made since it was entered and not yet gone. Use it as a context.

    On a CPU it counts each block that c10's allocator gives out or takes back: by this thread, by the threads of
    `at::parallel_for`, and by those on which autograd runs. Blocks that were there before do not count, also when they
    are released. On a GPU it reads the statistics of torch's caching allocator, which rounds each block up to 512 bytes.

    Args:
        device: `cpu`, `cuda` or `cuda-cpu`.
        built: its library for the CPU; None builds it.
        progress: as for `build`; the first meter on a machine takes a few seconds to compile.

    Example:
        >>> with Meter(progress=False) as meter:
        ...     kept = torch.empty(1000)
        ...     del kept
        ...     kept = torch.empty(10)
        ...     print(meter.now, meter.peak)
        40 4000
    """

    def __init__(
        self, device: str = "cpu", built: Build | None = None, progress: Progress | bool | None = None
    ) -> None:
        self._device = device
        self._library = None if DEVICES[device].needs_gpu else load_helper("meter", _FUNCTIONS, built, progress)
        self._handle: int | None = None
        self._before = self._now = self._peak = 0

    def __enter__(self) -> Meter:
        if self._library is not None:
            self._handle = self._library.meter_start(torch.get_num_threads())
        else:
            torch.cuda.synchronize(self._device)
            torch.cuda.reset_peak_memory_stats(self._device)
            self._before, self._handle = torch.cuda.memory_allocated(self._device), 1
        return self

    def __exit__(self, *_: object) -> None:
        self._read()
        if self._library is not None:
            self._library.meter_stop(self._handle)
        self._handle = None

    def _read(self) -> None:
        if self._handle is None:
            return
        if self._library is not None:
            self._now, self._peak = (int(f(self._handle)) for f in (self._library.meter_now, self._library.meter_peak))
        else:
            self._now = int(torch.cuda.memory_allocated(self._device)) - self._before
            self._peak = int(torch.cuda.max_memory_allocated(self._device)) - self._before

    @property
    def now(self) -> int:
        """The bytes that live now; afterwards, those that lived at the end."""
        self._read()
        return self._now

    @property
    def peak(self) -> int:
        """The most bytes that lived at one time."""
        self._read()
        return self._peak
