"""Counts the bytes that live on a device while something runs: on a CPU every allocation, on a GPU torch's own statistics."""

from __future__ import annotations

import ctypes
from functools import cache
from types import TracebackType

import torch

from ..base.device import DEVICES
from ..base.progress import Progress
from ..build.compiler import Build, run_jobs, verify
from ..build.job import helper_job
from ..build.toolchain import find_toolchain


class Meter:
    """Counts the bytes of tensors made since it was entered and not yet gone. Use it as a context.

    On a CPU it hears of each block that c10's allocator gives out or takes back: by this thread, by the threads of
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
        self._library = None if DEVICES[device].needs_gpu else _library(built or build_meter(progress=progress))
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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


def build_meter(compiler: str | None = None, progress: Progress | bool | None = None) -> Build:
    """Build the meter, unless the cache has it."""
    return run_jobs([helper_job("meter", find_toolchain(compiler))], progress)[0]


@cache
def _library(built: Build) -> ctypes.CDLL:
    """Load the meter, once."""
    verify(built)
    library = ctypes.CDLL(str(built.path))
    library.meter_start.argtypes, library.meter_start.restype = (ctypes.c_int64,), ctypes.c_void_p
    for function in (library.meter_now, library.meter_peak):
        function.argtypes, function.restype = (ctypes.c_void_p,), ctypes.c_int64
    library.meter_stop.argtypes, library.meter_stop.restype = (ctypes.c_void_p,), None
    return library
