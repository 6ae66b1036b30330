"""What the verbs share that run kernels in the worker: build first, then ask, and make a `CrashError` of a death."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..build.cache import cache_dir
from ..build.compiler import Build, make_job, run_jobs
from ..build.nvcc import find_cuda
from ..build.toolchain import find_toolchain
from ..errors import LltmInlineError
from ..native import helper_job
from ..progress import Progress
from ..registry import Kernel, registry
from ..template import render
from .checking.cases import Case
from .checking.replay import replay_here
from .report import Finding
from .worker.black_box import Evidence, Frame
from .worker.client import Died, OnEvent, Result, worker
from .worker.crash import Crash, explain
from .worker.limits import Limits
from .worker.steps import Event
from .worker.symbolize import symbolize

#: One call of a replay may take so long: by then a person wants to know.
_REPLAY_SECONDS = 1.0
#: The endings that come again, and at once, when the kernel is run again.
_REPEATED = ("signal", "exit")


#: Recorder, guard and bridge, once they are known to be built: by compiler and cache.
_helpers: dict[tuple[str, Path], tuple[Build, ...]] = {}


@dataclass(frozen=True)
class Prepared:
    """What was built for the worker.

    Attributes:
        recorder: the crash recorder; None for none.
        libraries: the kernels' own, by label.
        compiler, cflags: with which.
    """

    recorder: Build | None
    libraries: Mapping[str, Build]
    compiler: str | None
    cflags: Sequence[str] | None


def prepare(
    kernels: Sequence[Kernel],
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
    progress: Progress | bool | None,
) -> Prepared:
    """Build kernels, and what watches over them, while the worker starts.

    Nothing is built where all kernels are Python functions: there may be no compiler.

    Raises:
        BuildError, SignatureError, ToolchainError, CacheError: as for `build`.
    """
    worker.warm()
    sources = [kernel for kernel in kernels if kernel.python is None]
    if not sources:
        return Prepared(None, {}, compiler, cflags)
    toolchain = find_toolchain(compiler, cflags)
    nvcc = find_cuda(compile_only=False) if device == "cuda" else None
    jobs = [make_job(kernel, toolchain, nvcc) for kernel in sources]
    helpers = _helpers.get((toolchain.compiler, cache_dir()), ())
    if helpers and all(helper.path.exists() for helper in helpers):
        builds = run_jobs(jobs, progress)
    else:  # they are verified where they are loaded
        more = [
            helper_job("recorder", toolchain),
            helper_job("guard", find_toolchain()),  # the worker asks for the one of the environment's compiler
            helper_job("bridge", toolchain),
        ]
        *builds, recorder, guard, bridge = run_jobs([*jobs, *more], progress)
        helpers = _helpers[toolchain.compiler, cache_dir()] = (recorder, guard, bridge)
    recorder = helpers[0]
    libraries = {kernel.label: built for kernel, built in zip(sources, builds, strict=False)}
    return Prepared(recorder, libraries, compiler, cflags)


def ask(
    function: Callable[..., Any],
    *arguments: Any,
    kernels: Sequence[Kernel],
    device: str,
    limits: Limits | None,
    prepared: Prepared,
    tensors: Sequence[Any] = (),
    on_event: OnEvent = lambda event: None,
) -> Result:
    """Call a function in the worker.

    Raises:
        CrashError: the worker died of it, or was ended at a limit; TimeoutError for that of time.
        InputError: an op or kernel that cannot be sent.
        BaseException: whatever the function raised.
    """
    named = {"limits": limits, "recorder": prepared.recorder, "tensors": tensors, "on_event": on_event}
    try:
        return ask_twice(function, *arguments, kernels=kernels, **named)
    except Died as died:
        kernel = next((k for k in kernels if k.label == died.state.kernel), kernels[-1])
        replay = Replay(kernel, None, device, prepared)
        raise crash_of(died, kernel, device, limits, prepared, replay=replay).error() from None


def identities(kernels: Sequence[Kernel]) -> frozenset[str]:
    """Name kernels for the blame, each by its label and what it is made of."""
    return frozenset(f"{kernel.label} {hash(kernel)}" for kernel in kernels)


def ask_twice(function: Callable[..., Any], *arguments: Any, kernels: Sequence[Kernel], **named: Any) -> Result:
    """Call a function in the worker, and once more in a fresh one if it died there after other kernels had run in it.

    One of those may have damaged the memory of the process: then this call is right in a fresh one, and they are named.

    Raises:
        Died: in a worker in which no other kernel has run.
    """
    op = registry.op_of(kernels[0])
    who = identities(kernels)
    try:
        return worker.run(function, *arguments, op=op, who=who, **named)
    except Died as died:
        if not died.strangers or died.ending.kind not in _REPEATED or died.from_outside:
            raise
        own = [f"{name.partition(' ')[0]} itself" for name in sorted(died.earlier - died.strangers)]
        suspects = ", ".join([*own, *sorted({name.partition(" ")[0] for name in died.strangers})])
    result = worker.run(function, *arguments, op=op, who=who, fresh=True, **named)
    warnings.warn(
        f"the worker crashed in {', '.join(k.label for k in kernels)}, and did not in a new process: what had run in it before "
        f"has damaged its memory ({suspects})",
        RuntimeWarning,
        stacklevel=3,
    )
    return result


@dataclass(frozen=True)
class Replay:
    """A second look at a kernel that crashed: in a fresh worker, from the smallest size on, between guard pages."""

    kernel: Kernel
    case: Case | None
    device: str
    prepared: Prepared

    def run(self, limits: Limits) -> tuple[Finding, ...]:
        """Run it, and return what was found without a crash.

        Raises:
            Died: it crashed again, which is what this is for.
        """
        if self.device != "cpu":
            return ()
        found: tuple[Finding, ...] = ()

        def on_event(event: Event) -> None:
            nonlocal found
            found = event.values[0] if event.kind == "found" else found

        try:
            result = worker.run(
                replay_here,
                *(self.kernel, self.case, self.prepared.compiler, self.prepared.cflags),
                op=registry.op_of(self.kernel),
                who=identities([self.kernel]),
                limits=replace(limits, seconds=min(limits.seconds, _REPLAY_SECONDS)),
                recorder=self.prepared.recorder,
                fresh=True,
                on_event=on_event,
            )
        except Died as died:
            died.found = found
            raise
        return result.value


def crash_of(
    died: Died,
    kernel: Kernel,
    device: str,
    limits: Limits | None,
    prepared: Prepared,
    *,
    replay: Replay | None = None,
    finished: Sequence[str] = (),
) -> Crash:
    """Make sense of a death.

    Args:
        died: what is known.
        kernel: which it was.
        device: where.
        limits: that were set.
        prepared: where its library is.
        replay: does it again in a fresh worker, at ascending sizes and under guard pages: what died tells more then.
        finished: what had been done before.
    """
    limits = limits or Limits()
    op = registry.op_of(kernel)
    rendered = render(kernel, op, device) if kernel.python is None else None
    library = prepared.libraries.get(kernel.label)

    def explained(seen: Died, smallest: str) -> Crash:
        return explain(
            seen.ending,
            seen.state,
            seen.evidence,
            output=died.output,
            kernel=kernel.label,
            sources=rendered.sources if rendered else {},
            places=symbolize(_placed(seen.evidence), library.path) if seen.evidence and library else [],
            smallest=smallest,
            limits=limits,
            finished=finished,
            cpu_share=died.busy,
            seconds=died.seconds,
        )

    # Also of a death between two calls: memory was damaged earlier, and guard pages tell where.
    if replay is None or died.ending.kind not in _REPEATED or died.state.step == "load" or died.from_outside:
        return explained(died, "")
    try:
        found = replay.run(limits)
    except Died as again:
        if again.ending.kind not in _REPEATED or not again.state.step:
            return explained(died, "")
        smallest = again.found[0].case if again.found else again.state.case
        crash = explained(died, smallest)
        if again.evidence is not None and again.evidence.region is not None:
            return _with_replay(crash, explained(again, smallest))
        return _with_findings(crash, again.found)
    except LltmInlineError:  # no guard, no worker: then without a second look
        return explained(died, "")
    return _with_findings(explained(died, ""), found)


def _placed(evidence: Evidence) -> Sequence[Frame]:
    """Leave out a jump to itself: it has no line of its own."""
    return evidence.frames[1:] if evidence.still else evidence.frames


def _with_replay(crash: Crash, again: Crash) -> Crash:
    """Say what a second look has shown: which tensor was overrun; what happened remains what happened first."""
    if crash.what == again.what:
        return again
    where = f"in {again.step}, " if crash.step not in ("", again.step) else ""
    detail = f"run again between guard pages, {where}{again.detail}"
    return replace(again, what=crash.what, step=crash.step or again.step, detail=detail, output=crash.output)


def _with_findings(crash: Crash, found: Sequence[Finding]) -> Crash:
    """Say what a crash follows from: the guard saw memory damaged before anything died of it."""
    writes = [finding for finding in found if " writes " in finding.text]
    if not writes:
        return crash
    first = writes[0]
    cause = f"what lies there is destroyed, and the crash comes later, where that is used: {first.hints[0]}"
    return replace(crash, detail=first.text, cause=cause, smallest=first.case)


def echo(output: str) -> None:
    """Print what a kernel has printed in the worker."""
    if output:
        sys.stdout.write(output if output.endswith("\n") else f"{output}\n")
