"""Where kernels run: a task is carried out in this process or in the worker, and does not know in which.

What it tells on its way are events; what comes of it is a result, or `Died`.
"""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..autopsy.crash import tail
from ..base.above import Shown
from ..base.progress import Listener, listening
from ..base.shell import in_notebook
from ..model.registry import Kernel
from ..workers.client import worker
from ..workers.outcome import Died, Result
from .built import Built, build_all
from .setting import Setting

#: The endings that come again, and at once, when the kernel is run again.
REPEATED = ("signal", "exit")


@dataclass(frozen=True)
class Task(ABC):
    """Something to do with kernels that are built.

    Attributes:
        built: what runs.
    """

    built: tuple[Built, ...]

    @abstractmethod
    def run(self, *tensors: Any) -> Any:
        """Do it in this process, whichever that is; say with `emit` what happens on the way."""


def prepare(
    kernels: Sequence[Kernel],
    setting: Setting,
    meanwhile: Callable[[], None] | None = None,
    *,
    followed: bool = False,
) -> tuple[Built, ...]:
    """Build kernels while the worker starts, if they are to run there; see `build_all`."""
    if not setting.here:
        worker.warm()
    return build_all(kernels, setting, meanwhile, followed=followed and not setting.here)


def run(
    task: Task,
    setting: Setting,
    on_event: Listener = lambda event: None,
    *,
    tensors: Sequence[Any] = (),
    fresh: bool = False,
) -> Result:
    """Carry out a task.

    Args:
        task: what to do.
        setting: where, and within which limits.
        on_event: called with what the task tells on its way.
        tensors: of the caller's; the worker gets copies.
        fresh: in a worker in which nothing else has run.

    Raises:
        Died: the worker ended, or passed a limit and was ended.
        InputError: something cannot be sent to the worker.
        BaseException: whatever the task raised.
    """
    if setting.here:
        with listening(on_event):
            return Result(task.run(*tensors), "")
    return _run_in_worker(task, setting, on_event, tensors, fresh)


def _run_in_worker(task: Task, setting: Setting, on_event: Listener, tensors: Sequence[Any], fresh: bool) -> Result:
    """Carry out a task in the worker, and once more in a fresh one if it died there after other kernels had run in it.

    One of those may have damaged the memory of the process: then this task is right in a fresh one, and they are named.
    """
    who = frozenset(f"{one.kernel.label} {hash(one.kernel)}" for one in task.built)
    named: dict[str, Any] = {
        "op": task.built[0].op,
        "who": who,
        "limits": setting.limits,
        "recorder": next((one.helpers["recorder"] for one in task.built if one.helpers), None),
        "tensors": tensors,
        "on_event": on_event,
    }
    try:
        return worker.run(task.run, **named, fresh=fresh)
    except Died as died:
        others = died.earlier - who
        if not others or died.ending.kind not in REPEATED or died.from_outside:
            raise
        own = [f"{name.partition(' ')[0]} itself" for name in sorted(died.earlier & who)]
        suspects = ", ".join([*own, *sorted({name.partition(" ")[0] for name in others})])
    result = worker.run(task.run, **named, fresh=True)
    labels = ", ".join(one.kernel.label for one in task.built)
    warnings.warn(
        f"the worker crashed in {labels}, and did not in a new process: what had run in it before "
        f"has damaged its memory ({suspects})",
        RuntimeWarning,
        stacklevel=3,
    )
    return result


@dataclass(frozen=True, repr=False)
class Printed(Shown):
    """What a kernel has printed; a notebook folds it."""

    text: str

    def __repr__(self) -> str:
        return self.text


def echo(output: str, most: int | None = None) -> None:
    """Print what a kernel has printed in the worker: all of it, or the last lines of one that ran thousands of times, folded."""
    if output:
        text = output if most is None else tail(output, most)
        if most is not None and in_notebook():
            from IPython.display import display

            display(Printed(text))
            return
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
