"""What is made of a death in the worker: a `Crash`, after a second look at the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..autopsy.crash import Crash, explain
from ..autopsy.facts import Facts
from ..autopsy.symbolize import symbolize
from ..base.device import DEVICES
from ..base.progress import Event, Listener, Show, emit
from ..errors import LltmInlineError
from ..run.built import Built
from ..run.cases.case import Case
from ..run.cases.tried import size_cases
from ..run.executor import REPEATED, Task, echo, run
from ..run.setting import Setting
from ..workers.limits import Limits
from ..workers.outcome import Died, Result
from .follow import STRAY, follow, index_fault
from .report import OUTPUT_LINES, Finding
from .runner import laboratory, runner_of
from .safety import ascending, flush_cases, replay, smaller_cases

#: One call of a replay may take so long: by then a person wants to know.
_REPLAY_SECONDS = 1.0


@dataclass(frozen=True)
class Followed(Task):
    """A look at each load and store of a kernel: what it destroys is used much later, by others."""

    def run(self) -> tuple[Finding, ...]:
        """Return what was found."""
        with laboratory():
            return tuple(follow(runner_of(self.built[0]), self.built[0], None).findings)


def run_or_raise(
    task: Task, setting: Setting, on_event: Listener = lambda event: None, *, tensors: Sequence[Any] = ()
) -> Result:
    """Carry out a task, see `executor.run`.

    Raises:
        CrashError: the worker died of it, or was ended at a limit; TimeoutError for that of time.
    """
    try:
        return run(task, setting, on_event, tensors=tensors)
    except Died as died:
        built = next((one for one in task.built if one.kernel.label == died.state.kernel), task.built[-1])
        raise crash_of(died, built, setting).error() from None


def carried_out(task: Task, setting: Setting, show: Show) -> Any:
    """Carry out a task that tells of nothing but its progress, show what a kernel has printed, and return its value."""
    result = run_or_raise(task, setting, lambda event: show(*event.values) if event.kind == "progress" else None)
    echo(result.output, OUTPUT_LINES)
    return result.value


@dataclass(frozen=True)
class Replay(Task):
    """A second look at a kernel that crashed: from the smallest size on, between guard pages.

    Plain cases run first, then smaller ones of the kind that crashed.

    Attributes:
        case: in which it did, where that is known.
    """

    case: Case | None

    def run(self) -> tuple[Finding, ...]:
        """Return what was found without a crash."""
        runner = runner_of(self.built[0])
        with laboratory():
            plain = ascending(runner.op, [known for known in size_cases(runner.op, None) if known.plain])
            # Tensors without elements last: they have no memory, so what goes past their end says less.
            empty = [known for known in plain if 0 in known.size]
            like = smaller_cases(runner.op, self.case) if self.case is not None and not self.case.plain else []
            cases = [*(known for known in plain if known not in empty), *like, *empty]
            found = tuple(replay(runner, cases, fatal=True).findings)
            if found:
                # What stays within the slack behind a tensor does not fault; without slack it does, and the line is known.
                emit("found", found)
                replay(runner, flush_cases(runner.op), fatal=True)
            return found


def crash_of(
    died: Died,
    built: Built,
    setting: Setting,
    *,
    again: bool = True,
    case: Case | None = None,
    finished: Sequence[str] = (),
) -> Crash:
    """Make sense of a death.

    Args:
        died: what is known.
        built: the kernel that did it.
        setting: in which it ran.
        again: run it again in a fresh worker, at ascending sizes and under guard pages: what died tells more then.
        case: in which it died, where that is known.
        finished: what had been done before.
    """
    limits = setting.limits or Limits()

    def explained(seen: Died, smallest: str = "") -> Crash:
        sources = built.job.sources if built.job else {}
        libraries = [one.library.path for one in (built, built.follower) if one and one.library]
        places = next(filter(None, (symbolize(seen.frames, path) for path in libraries)), [])
        return explain(Facts(seen, built.kernel.label, sources, places, limits), smallest=smallest, finished=finished)

    if fault := index_fault(died, built):  # the library in which each access is followed ends at it
        kind, _, detail = fault.text.partition(": ")
        return replace(
            explained(died), what=kind, detail=detail, cause=fault.hints[0], place="", excerpt="", callers=()
        )
    # Also of a death between two calls: memory was damaged earlier, and guard pages tell where.
    again &= not DEVICES[built.device].needs_gpu and died.ending.kind in REPEATED and not died.from_outside
    if not again or died.state.step == "load":
        return explained(died)
    found: tuple[Finding, ...] = ()

    def on_event(event: Event) -> None:
        nonlocal found
        found = event.values[0] if event.kind == "found" else found

    def followed(crash: Crash) -> Crash:
        """Follow each access where the guard pages have shown nothing: what was destroyed is not in a tensor."""
        elsewhere = not crash.tensor and (not crash.place or "SIGABRT" in crash.what)
        return _with_findings(crash, _followed(built, setting)) if built.follower and elsewhere else crash

    short = replace(setting, limits=replace(limits, seconds=min(limits.seconds, _REPLAY_SECONDS)))
    try:
        found = run(Replay((built,), case), short, on_event, fresh=True).value
    except Died as second:
        if second.ending.kind not in REPEATED or not second.state.step:
            return followed(explained(died))
        smallest = found[0].case if found else second.state.case
        crash = explained(died, smallest)
        if second.evidence is not None and second.evidence.region is not None:
            return _with_replay(crash, explained(second, smallest))
        return _with_findings(crash, found) if found else followed(crash)
    except LltmInlineError:  # no guard, no worker: then without a second look
        return explained(died)
    return _with_findings(explained(died), found) if found else followed(explained(died))


def _followed(built: Built, setting: Setting) -> Sequence[Finding]:
    """Follow a kernel in a worker of its own, and return what went where it must not."""
    try:
        found = run(Followed((built,)), setting, fresh=True).value
    except Died as died:
        fault = index_fault(died, built)
        return [fault] if fault else []
    return [finding for finding in found if finding.text.startswith(STRAY)]


def _with_replay(crash: Crash, again: Crash) -> Crash:
    """Say what a second look has shown: which tensor was overrun; what happened remains what happened first."""
    again = replace(again, output=crash.output, seconds=crash.seconds)
    if crash.inputs and not crash.case:  # a user's own call: with these inputs it was made, whatever was tried again
        again = replace(again, case="", inputs=crash.inputs)
    if crash.what == again.what:
        return again
    where = f"in {again.step}, " if crash.step not in ("", again.step) else ""
    detail = f"run again between guard pages, {where}{again.detail}"
    return replace(again, detail=detail, what=crash.what, step=crash.step or again.step)


def _with_findings(crash: Crash, found: Sequence[Finding]) -> Crash:
    """Say what a crash follows from: the guard saw memory damaged before anything died of it."""
    writes = [finding for finding in found if " writes " in finding.text or finding.text.startswith(STRAY)]
    if not writes:
        return crash
    first = writes[0]
    cause = f"what lies there is destroyed, and the crash comes later, where that is used: {first.hints[0]}"
    return replace(crash, detail=first.text, cause=cause, smallest=first.case)
