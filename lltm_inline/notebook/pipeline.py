"""A kernel is built, checked and timed, in this order: what a cell asks for and a button of the panel, each of which shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ..base.device import DEVICES
from ..checking.check import check, watching
from ..checking.report import Report
from ..compiling.compiler import Build, build
from ..measure.benchmark import benchmark
from ..measure.counts import counts
from ..model.kernel import Kernel
from ..model.outcomes import noting
from ..run.built import build_all, require_device
from ..run.executor import prepare
from ..run.setting import Setting
from ..tables.counts import Counts
from ..tables.timings import Timings


@dataclass(frozen=True)
class Order:
    """What is to be done with a kernel.

    Attributes:
        kernel: what is built; one in Python is not.
        setting: with what and for which device; `progress` is called with a text.
        check: check it, too.
        benchmark: time it, too: returns the arguments of `benchmark` by name, and is called once the kernel is known to work.
        counts: count what it asks of the memory, likewise.
    """

    kernel: Kernel
    setting: Setting
    check: bool = False
    benchmark: Callable[[], Mapping[str, Any]] | None = None
    counts: Callable[[], Mapping[str, Any]] | None = None

    @property
    def runs(self) -> bool:
        """Whether the kernel is not only built."""
        return self.check or self.benchmark is not None


@dataclass(frozen=True)
class Began:
    """A part of an order has begun: `build`, `check`, `benchmark` or `counts`."""

    part: str
    text: str


def carry_out(order: Order) -> Iterator[Began | Build | Report | Timings | Counts]:
    """Do what an order says, and yield each part as it begins, and what came of it; a kernel that is wrong goes no further.

    Raises:
        BuildError, TemplateError: it does not compile.
        CheckError, CrashError: it is wrong, or crashes; the Report was yielded, unless that was seen only when it was timed.
        ToolchainError: it cannot be run on this machine.
        InputError: arguments of `benchmark` that make no sense.
    """
    kernel, setting = order.kernel, order.setting
    alone: dict[str, Any] = {}
    how: dict[str, Any] = {"device": setting.device, "compiler": setting.compiler}
    if kernel.python is None:
        yield Began("build", f"build of {kernel.label}")
        yield _build(order, how)
    if order.check:
        yield Began("check", f"check of {kernel.label}")
        report = check(kernel, progress=setting.progress, **how)
        yield report
        if report.wrong:
            raise report.error()
        alone = {"directions": ["forward"]} if report.forward_only else {}  # as `benchmark` times what it checks itself
    if order.benchmark is not None:
        arguments = {**order.benchmark(), **alone}
        yield Began("benchmark", f"benchmark of {kernel.label}")
        yield benchmark(**arguments, progress=_counted(setting.progress), **how)
    if order.counts is not None:
        yield Began("counts", f"counts of {kernel.label}")
        yield counts(**order.counts(), progress=_counted(setting.progress), compiler=setting.compiler)


def _counted(tell: Any) -> Any:
    """Let what takes a text be called with numbers, too."""
    return (lambda done, total, text: tell(text)) if callable(tell) else tell


def _build(order: Order, how: Mapping[str, Any]) -> Build:
    """Build a kernel with all that is needed to run it, so that what follows makes nothing twice; without a GPU it compiles."""
    kernel, setting = order.kernel, order.setting
    if order.check and order.benchmark is None:
        setting = watching(setting)  # that build is all that is needed
    if DEVICES[setting.device].needs_gpu and not order.runs and not torch.cuda.is_available():
        return build(kernel, compile_only=True, progress=setting.progress, **how)
    require_device(setting.device, kernel)
    with noting([kernel]):
        [built] = prepare([kernel], setting, followed=order.check) if order.runs else build_all([kernel], setting)
    library = built.library
    assert library is not None  # it has a text
    return library
