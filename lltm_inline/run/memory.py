"""Memory of kernels of one op beside each other: what is held for backward, and the peak over forward and backward.

What is done, and why:

1. Every kernel is checked before it is measured, and compared with the reference at each size, which also warms it up.
2. Inputs, parameters and incoming gradients are made before the meter starts: they do not count.
3. The meter hears of every allocation (see `Meter`), so one pass is enough, and the same on every run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from ..arguments import require_choices
from ..errors import CheckError
from ..registry import Kernel, Op, registry
from .entrants import (
    Progress,
    Step,
    check_all,
    choose_baseline,
    choose_kernels,
    load_all,
    relay,
    require_timing,
    steps,
    tensor_device,
)
from .footprint import Memory, MemoryRow
from .isolated import ask, echo, prepare
from .meter import Meter, build_meter
from .sizes import choose_sizes
from .stack import Stack, layer_sizes
from .timing import machine
from .timing.audit import Auditor
from .timing.inputs import Ring
from .timing.sample import Entrant, no_collection
from .worker import steps as worker_steps
from .worker.limits import Limits, require_limits

_SEED = 2019


def memory(
    kernels: Sequence[Kernel | str] | Kernel | str,
    sizes: Sequence[Sequence[int] | Mapping[str, int]] | None = None,
    *,
    baseline: Kernel | str | None = None,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    depth: int = 1,
    check: bool = True,
    progress: Progress | bool | None = None,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    trust: bool = False,
    limits: Limits | None = None,
) -> Memory:
    """Measure the memory of kernels of one op, beside each other.

    On a CPU every allocation and release of PyTorch's allocator counts, with the bytes that were asked for. That
    includes what oneDNN takes through PyTorch (reordered copies of images and weights). It does not include scratch memory
    that libraries take for themselves (packed panels in the GEMMs of MKL, the internal scratch of oneDNN), memory from
    `new` and `malloc`, autograd's own nodes, and tensors made on threads that a kernel starts itself. On a GPU torch's
    statistics count, in which each block is rounded up to 512 bytes.

    Gradients are taken of the inputs in `op.parameters` (default: all tensors), for random gradients of the outputs.

    Args:
        kernels: labels (`"lltm/fused@2"`) or kernels, all of one op.
        sizes: tuples in the order of the op's letters, or dicts by letter; default: the op's own.
        baseline: what ratios are counted against; default: the reference if it is among the kernels, else the first.
        dtype: of the floating-point inputs.
        device: `cpu` or `cuda`.
        depth: number of layers, the first output of each the first input of the next, each with parameters of its own;
            `sizes` are those of the first layer.
        check: run the full `check` of every kernel first. Without it a quick comparison at every size remains.
        progress: function called as `progress(done, total, text)`; None shows a line when it takes over a second,
            False nothing.
        compiler: see `build`; so is `cflags`.
        trust: run the kernels in this process and not in the worker.
        limits: of time, memory and output in the worker.

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
    require_choices(device=device, compiler=compiler, cflags=cflags, progress=progress, trust=trust)
    require_limits(limits)
    require_timing(dtype=dtype, check=check)
    chosen = choose_kernels(kernels, verb="measure", done="measured")
    op = registry.op_of(chosen[0])
    cases = choose_sizes(op, sizes)
    for size in cases:
        layer_sizes(op, size, depth)
    against = choose_baseline(chosen, baseline)
    total = len(chosen) * (1 + check) + len(cases) * len(chosen)
    task = _Task(tuple(chosen), tuple(cases), against, dtype, device, depth, compiler, cflags)
    here = trust or worker_steps.in_worker()
    with steps(progress, f"memory of {op.name}", total) as step:
        prepared = None if here else prepare(chosen, device, compiler, cflags, partial(step, 0))
        if device == "cpu" and prepared is not None:
            build_meter(compiler, partial(step, 0))
        if check:
            check_all(op, chosen, device, compiler, cflags, step, trust=trust, limits=limits, done="measured")
        if prepared is None:
            return measure_here(task, step)
        result = ask(
            *(measure_here, task),
            kernels=chosen,
            device=device,
            limits=limits,
            prepared=prepared,
            on_event=lambda event: step(*event.values) if event.kind == "step" else None,
        )
        echo(result.output)
        return result.value


@dataclass(frozen=True)
class _Task:
    """What is to be measured."""

    kernels: tuple[Kernel, ...]
    sizes: tuple[tuple[int, ...], ...]
    baseline: str
    dtype: torch.dtype
    device: str
    depth: int
    compiler: str | None
    cflags: Sequence[str] | None


def measure_here(task: _Task, step: Step | None = None) -> Memory:
    """Measure kernels in this process; in the worker without `step`: the caller's process is told."""
    step = step or relay(0.0)
    op = registry.op_of(task.kernels[0])
    entrants = load_all(task.kernels, task.device, task.compiler, task.cflags, step)
    rows = []
    for size in task.sizes:
        place = _Place(op, size, task.depth, task.dtype, task.device)
        stack = place.prepare(entrants)
        for entrant in entrants:
            step(0, f"measuring {entrant.label} at {place.where}")
            rows.append(place.measure(entrant, stack))
            step(1, f"measured {entrant.label} at {place.where}")
    return Memory(tuple(rows), task.baseline)


@dataclass(frozen=True)
class _Place:
    """One size at which kernels are measured."""

    op: Op
    size: tuple[int, ...]
    depth: int
    dtype: torch.dtype
    device: str

    @property
    def where(self) -> str:
        """The size in words."""
        named = ", ".join(f"{letter}={number}" for letter, number in self.op.named(self.size).items())
        return named + (f", {self.depth} layers" if self.depth > 1 else "")

    def prepare(self, entrants: Sequence[Entrant]) -> Stack:
        """Compare every kernel with the reference, and make what the measurement needs."""
        place = tensor_device(self.device)
        ring = Ring(self.op, self.size, dtype=self.dtype, device=place, seed=_SEED)
        auditor = Auditor(self.op, ring, self.where, gradients=True, done="measured")
        for entrant in entrants:
            auditor.before(entrant.label, entrant.function, times=1)
        return Stack(self.op, self.size, self.depth, dtype=self.dtype, device=place, seed=_SEED)

    def measure(self, entrant: Entrant, stack: Stack) -> MemoryRow:
        """Run forward and backward once for warming up, then once under the meter.

        Raises:
            CheckError: the kernel failed, which it did not when it was compared.
        """
        try:
            with worker_steps.step("benchmark", entrant.label, lambda: (self.where, ())):
                stack.backward(stack.outputs(entrant.function))
                with no_collection(), Meter(tensor_device(self.device), progress=False) as meter:
                    outputs = stack.outputs(entrant.function)
                    held, own = meter.now, _bytes_of(outputs, stack)
                    gradients = stack.backward(outputs)
                    peak = meter.peak
                    del outputs, gradients
                    left = meter.now
        except Exception as error:
            raise CheckError(f"'{entrant.label}' failed at {self.where}: {error}\nIt was not measured.") from error
        here = machine.machine(self.device)
        return MemoryRow(
            kernel=entrant.label,
            op=self.op.name,
            size=self.op.named(self.size),
            depth=self.depth,
            dtype=str(self.dtype).removeprefix("torch."),
            device=self.device,
            held=held,
            outputs=own,
            peak=peak,
            left=left,
            threads=here.threads,
            torch=here.torch,
            cpu=here.cpu,
        )


def _bytes_of(outputs: Sequence[torch.Tensor], stack: Stack) -> int:
    """Count the memory of the outputs, each block once, and none that is an input's."""
    given = {
        item.untyped_storage().data_ptr() for layer in stack.layers for item in layer if isinstance(item, torch.Tensor)
    }
    blocks = {output.untyped_storage().data_ptr(): output.untyped_storage().nbytes() for output in outputs}
    return sum(size for block, size in blocks.items() if block not in given)
