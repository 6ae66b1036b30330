"""What this machine is, and how fast it copies and multiplies: the yardstick beside every timing.

The speeds are what PyTorch itself reaches here, now, with the threads it has now; no data sheet is asked.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import torch

from ..base.device import DEVICES
from ..run.compare import dtype_name
from ..run.function import Function

_COPY_BYTES = 64 * 2**20
_GEMM_SIZE = 768
_SECONDS = 0.1


@dataclass(frozen=True)
class Machine:
    """Where something was timed.

    Attributes:
        cpu: name of the processor.
        threads: number of PyTorch's threads.
        torch: its version.
    """

    cpu: str
    threads: int
    torch: str


@dataclass(frozen=True)
class Peak:
    """What this machine reaches: `copy` in bytes a second (read plus written), `gemm` in operations a second."""

    copy: float
    gemm: float


def machine(device: str = "cpu") -> Machine:
    """Describe the machine as it is now: the thread count can change at any time.

    Args:
        device: for `cuda` the name is the GPU's.

    Example:
        >>> machine().threads == torch.get_num_threads()
        True
    """
    name = torch.cuda.get_device_name(device) if DEVICES[device].needs_gpu else cpu_name()
    return Machine(name, torch.get_num_threads(), str(torch.__version__))


def subject(function: Function, size: Sequence[int], dtype: torch.dtype) -> dict[str, Any]:
    """Return what every row of a table says: which kernel at which size."""
    named = {"kernel": function.kernel.label, "op": function.op.name, "size": function.op.named(size)}
    return {**named, "dtype": dtype_name(dtype), "device": function.device}


def columns(function: Function, size: Sequence[int], dtype: torch.dtype) -> dict[str, Any]:
    """Return this, and on what machine, which decides what is measured."""
    return subject(function, size, dtype) | vars(machine(function.device))


@cache
def cpu_name() -> str:
    """Name the processor as its maker does."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(("model name", "Model", "cpu model")):
            return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def peak(dtype: torch.dtype = torch.float32, device: str = "cpu") -> Peak:
    """Measure the speed of a large copy and of a large GEMM, once a process for each dtype, device and thread count.

    Of the GEMMs in this wheel (`torch.mm`, and oneDNN's where it is) the faster one counts. It takes about 0.3 s the
    first time. Data that stays in the processor's caches can be moved faster than this copy, which does not.

    Args:
        dtype: floating-point type of both.
    """
    return _peak(dtype, DEVICES[device].tensors, torch.get_num_threads())


@cache
def _peak(dtype: torch.dtype, device: str, threads: int) -> Peak:
    count = _COPY_BYTES // dtype.itemsize
    source, target = torch.ones(count, dtype=dtype, device=device), torch.empty(count, dtype=dtype, device=device)
    copy = 2 * _COPY_BYTES / fastest(lambda: target.copy_(source), device)
    a, b = torch.ones(2, _GEMM_SIZE, _GEMM_SIZE, dtype=dtype, device=device)
    calls: list[Callable[[], Any]] = [lambda: torch.mm(a, b)]
    if device == "cpu" and dtype == torch.float32 and torch.backends.mkldnn.is_available():
        linear = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
        if linear is not None:
            calls.append(lambda: linear(a, b, None, "none", [], ""))
    with torch.no_grad():
        seconds = min(fastest(call, device) for call in calls)
    return Peak(copy, 2 * _GEMM_SIZE**3 / seconds)


def crowd() -> Callable[[], float]:
    """Begin to watch for how many processors other programs work; what is returned says it of the time until it is called.

    Example:
        >>> others = crowd()
        >>> others() >= 0
        True
    """
    start, before = time.perf_counter(), _of_others()
    return lambda: max(0.0, (_of_others() - before) / (time.perf_counter() - start))


def _of_others() -> float:
    """Return the seconds that the processors of this machine have worked for other processes, one by one; those of a host, too."""
    times = psutil.cpu_times()._asdict()
    # What a guest has had is in `user` as well.
    worked = sum(seconds for name, seconds in times.items() if name not in ("idle", "iowait", "guest", "guest_nice"))
    return float(worked - time.process_time())


def fastest(call: Callable[[], Any], device: str) -> float:
    """Return the shortest of the times of as many calls as fit into a tenth of a second; the first warms up."""
    call()
    synchronize(device)
    best = float("inf")
    ends = time.perf_counter() + _SECONDS
    while best == float("inf") or time.perf_counter() < ends:
        start = time.perf_counter()
        call()
        synchronize(device)
        best = min(best, time.perf_counter() - start)
    return best


def synchronize(device: str) -> None:
    """Wait for a GPU to finish what it was given; on a CPU everything is finished when a call returns."""
    if DEVICES[device].needs_gpu:
        torch.cuda.synchronize(device)
