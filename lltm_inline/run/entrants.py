"""What timing and measuring memory begin with: kernels are chosen, then built, loaded and checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..arguments import boolean, number, real_dtype, refusal, shown
from ..build.compiler import build
from ..errors import CheckError, InputError
from ..progress import showing
from ..registry import Kernel, Op, resolve
from .check import check
from .load import load
from .timing.sample import Entrant
from .timings import DIRECTIONS
from .worker import steps as worker_steps
from .worker.limits import Limits

#: Called as `progress(done, total, text)`; `done` only grows and ends at `total`.
Progress = Callable[[int, int, str], None]

Step = Callable[[int, str], None]

#: How often a step that does not count is passed on.
_SHOWN_SECONDS = 0.1


def choose_kernels(
    kernels: Sequence[Kernel | str] | Kernel | str, *, verb: str = "time", done: str = "timed"
) -> list[Kernel]:
    """Look up what was asked for: one or more kernels of one op, none of them twice.

    Raises:
        InputError: none, one twice, or kernels of several ops.
        UnknownKernelError: a label that the registry does not have.
    """
    if not isinstance(kernels, Kernel | str | list | tuple):
        raise refusal("kernels", kernels, "a list of kernels or labels, such as ['lltm/python', 'lltm/fused']")
    given = [kernels] if isinstance(kernels, Kernel | str) else list(kernels)
    chosen = [resolve(kernel, "kernels: one") for kernel in given]
    if not chosen:
        raise InputError(f"no kernel to {verb}: give one or more labels, such as ['lltm/python', 'lltm/fused']")
    labels = [kernel.label for kernel in chosen]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is given twice; each kernel is {done} once")
    if len({kernel.op for kernel in chosen}) > 1:
        raise InputError(f"kernels of several ops cannot be compared: {', '.join(labels)}")
    return chosen


def require_timing(
    *, dtype: Any, check: Any, seconds: Any = 1.0, rounds: Any = 1, directions: Any = DIRECTIONS
) -> None:
    """Look at what is `benchmark`'s and `memory`'s own.

    Raises:
        InputError: a number, dtype or list that makes no sense.
    """
    real_dtype(dtype)
    boolean("check", check)
    try:
        number("seconds", seconds, positive=True)
    except InputError:
        raise refusal("seconds", seconds, "a positive time") from None
    if not isinstance(rounds, int) or isinstance(rounds, bool) or rounds < 1:
        raise refusal("rounds", rounds, "at least one round")
    if not isinstance(directions, list | tuple) or not directions or any(one not in DIRECTIONS for one in directions):
        raise refusal("directions", directions, f"some of {', '.join(DIRECTIONS)}")


def choose_baseline(kernels: Sequence[Kernel], baseline: Kernel | str | None) -> str:
    """Return the label of the baseline: what was asked for, else the reference if it is there, else the first.

    Raises:
        InputError: the baseline is not among the kernels.
    """
    labels = [kernel.label for kernel in kernels]
    if baseline is None:
        reference = f"{kernels[0].op}/python"
        return reference if reference in labels else labels[0]
    if not isinstance(baseline, Kernel | str):
        raise refusal("baseline", baseline, "a kernel or a label")
    label = baseline if isinstance(baseline, str) else baseline.label
    if label not in labels:
        raise InputError(f"baseline {shown(label)} is not among the kernels: {', '.join(labels)}")
    return label


def load_all(
    kernels: Sequence[Kernel], device: str, compiler: str | None, cflags: Sequence[str] | None, step: Step
) -> list[Entrant]:
    """Build what has a source text, all of it in parallel, and load everything."""
    say = partial(step, 0)
    sources = [kernel for kernel in kernels if kernel.python is None]
    if len(sources) > 1:
        build(sources, device=device, compiler=compiler, cflags=cflags, progress=say)
    entrants = []
    for kernel in kernels:
        function = load(kernel, device=device, compiler=compiler, cflags=cflags, progress=say, trust=True)
        built = function.build
        entrants.append(Entrant(kernel, function, built.flags if built else (), built.compiler if built else ""))
        step(1, f"loaded {kernel.label}")
    return entrants


def check_all(
    op: Op,
    kernels: Sequence[Kernel],
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
    step: Step,
    *,
    trust: bool,
    limits: Limits | None,
    done: str = "timed",
) -> None:
    """Run the full check on every kernel but the reference itself.

    Raises:
        CheckError: one of them is wrong; `.report` has the whole report. CrashError: one of them crashes.
    """
    for kernel in kernels:
        if kernel.python is not op.reference:
            report = check(
                *(kernel,),
                device=device,
                compiler=compiler,
                cflags=cflags,
                progress=partial(step, 0),
                trust=trust,
                limits=limits,
            )
            if report.crash is not None:
                raise report.crash.error()
            if not report.ok:
                raise CheckError(f"{report.headline}\nIt was not {done}. The whole report: e.report", report=report)
        step(1, f"checked {kernel.label}")


def relay(seconds: float = _SHOWN_SECONDS) -> Step:
    """Return a step function for the worker, which tells the caller's process.

    Args:
        seconds: between two steps that count nothing: nobody looks more often than that.
    """
    last = 0.0

    def step(more: int, text: str) -> None:
        nonlocal last
        now = time.monotonic()
        if more or now - last >= seconds:
            last = now
            worker_steps.tell("step", more, text)

    return step


@contextmanager
def steps(progress: Progress | bool | None, title: str, total: int) -> Iterator[Step]:
    """Yield `step(more, text)`, which tells the caller's function, or a line on the screen, how far we are."""
    done = 0
    own = progress if callable(progress) else None
    with showing(title, False if own else bool(progress is not False)) as show:

        def step(more: int, text: str) -> None:
            nonlocal done
            done += more
            if own is not None:
                own(done, total, text)
            else:
                show(f"{text} ({done / total:.0%})")

        yield step


def tensor_device(device: str) -> str:
    """Name the device on which the tensors live."""
    return "cpu" if device == "cuda-cpu" else device
