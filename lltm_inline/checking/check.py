"""Checks a kernel against its op: what it returns and refuses, parity with the reference, purity, gradcheck, safety.

A wrong kernel is a result, never an exception: whatever it raises becomes a finding of the report, and so does a crash.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

from ..autopsy.crash import Crash
from ..autopsy.facts import signal_name
from ..base.device import DEVICES
from ..base.progress import Event, Show, showing
from ..errors import DefinitionError, InputError
from ..model.outcomes import noting
from ..model.registry import Kernel, registry, resolve
from ..run.built import Built, mark_tried, require_device
from ..run.cases.case import Case, Size, prime_size
from ..run.executor import REPEATED, Task, prepare, run
from ..run.setting import Options, Setting, choose_sizes, takes
from ..workers.client import worker
from ..workers.limits import Limits
from ..workers.outcome import Died
from .examine import Examination, Together, twins_of
from .follow import index_fault, unfollowed
from .interface import NO_NONSENSE, Try, is_safe, refusal_findings, refusals
from .opcheck import warm_up
from .postmortem import crash_of
from .report import Finding, Report, Section
from .runner import runner_of

#: In all, for calls with nonsense that crash; each costs a worker.
_MOST_CRASHES = 40
#: A call with nonsense that takes longer hangs.
_NONSENSE_SECONDS = 5.0
_ENDINGS = {
    "timeout": "hangs",
    "memory": "takes too much memory",
    "output": "prints without end",
    "stopped": "stops the process",
    "processes": "leaves processes",
    "garbled": "cuts the worker off",
}


@takes(Options)
def check(kernel: Kernel | str, *, sizes: Sequence[Size] | None = None, **options: Unpack[Options]) -> Report:
    """Check a kernel against the reference of its op.

    With `device="cuda-cpu"` it also tracks each step of a launch for indices out of bounds, races and barriers that not all
    threads reach.

    Args:
        kernel: a `Kernel` or the name of one in the registry.
        sizes: sizes to check at, instead of the corner sizes: zero, one, primes, block edges.
        options: of `Setting`, by name.

    Returns:
        A Report with the sections `interface`, `parity`, `purity`, `gradcheck` and `safety`, and `opcheck` if the kernel is
        registered with PyTorch's dispatcher. If the kernel crashes, there are a section `crash` and the attribute `crash`.

    Raises:
        BuildError: the kernel does not compile. A kernel that is merely wrong, or crashes, does not raise.
        UnknownKernelError: no kernel of that name.
        InputError: an unknown device, a size that does not fit the op, or an op that cannot be sent to the worker.

    Example:
        >>> check("lltm/python").ok
        True
    """
    return _check(kernel, sizes, Setting.of(check, options), gradients_only=False)


@takes(Options)
def gradcheck(kernel: Kernel | str, *, sizes: Sequence[Size] | None = None, **options: Unpack[Options]) -> Report:
    """Check the gradients of a kernel in float64: against the reference and finite differences, and the second derivative.

    Args:
        kernel: a `Kernel` or the name of one in the registry.
        sizes: sizes instead of the primes; every input element costs two calls of forward.
        options: of `Setting`, by name.

    Returns:
        A Report with only the section `gradcheck`, and `crash` if the kernel crashed.

    Raises:
        BuildError: the kernel does not compile.
        UnknownKernelError: no kernel of that name.
        InputError: an unknown device, a size that does not fit the op, or an op that cannot be sent to the worker.

    Example:
        >>> gradcheck("lltm/python").ok
        True
    """
    return _check(kernel, sizes, Setting.of(gradcheck, options), gradients_only=True)


def _check(kernel: Kernel | str, sizes: Sequence[Size] | None, setting: Setting, *, gradients_only: bool) -> Report:
    """Look at the kernel and the sizes, check, and note what came of it."""
    kernel = resolve(kernel)
    op = registry.op_of(kernel)
    if gradients_only and not op.gradients:
        raise InputError(f"op {op.name!r} has no gradients: li.check looks at the rest of {kernel.label!r}")
    if op.lacks:
        raise DefinitionError(op.lacks)
    chosen = None if sizes is None else choose_sizes(op, sizes)
    require_device(setting.device, kernel)
    setting = watching(setting)
    with noting([kernel]):
        report = _report(kernel, chosen, setting, gradients_only=gradients_only)
    became = "crashed" if report.crash else "wrong" if report.wrong else "built" if report.forward_only else "right"
    if not (report.ok and gradients_only):  # which would be only a part of what makes a kernel right
        registry.note(kernel, became, "" if report.ok else report.headline)
    return report


def watching(setting: Setting) -> Setting:
    """Return how a kernel is built and run for a check: on some devices with each of its steps looked at.

    Example:
        >>> watching(Setting("cpu")) == Setting("cpu"), "-DCUDA_CPU_CHECK" in watching(Setting("cuda-cpu")).cflags
        (True, True)
    """
    device = DEVICES[setting.device]
    if not device.check_flags:
        return setting
    limits = setting.limits or Limits(seconds=device.watched_seconds)
    return replace(setting, cflags=(*(setting.cflags or ()), *device.check_flags), limits=limits)


def require_right(
    built: Sequence[Built], setting: Setting, show: Show, *, done: str = "timed", forward: bool = False
) -> list[str]:
    """Run the full check on every kernel but the reference itself.

    Args:
        built: the kernels to be checked.
        setting: how.
        show: told of each.
        done: what a wrong kernel is not.
        forward: whether one without backward may pass.

    Returns:
        The labels of those that are right in forward, and have no backward.

    Raises:
        CheckError: one of them is wrong; `.report` has the whole report. CrashError: one of them crashes.
    """
    setting = replace(setting, progress=show)
    lacking = []
    for one in built:
        if one.kernel.python is not one.op.reference:
            report = _check(one.kernel, None, setting, gradients_only=False)
            if report.forward_only and forward:
                lacking.append(one.kernel.label)
            elif not report.ok:
                raise report.error(f"\nIt was not {done}. The whole report: e.report")
        show(f"checked {one.kernel.label}", 1)
    return lacking


def _report(
    kernel: Kernel, sizes: list[Size] | None, setting: Setting, *, gradients_only: bool, built: Built | None = None
) -> Report:
    """Build a kernel where that is not done, have it examined, and make a report also of one that crashes."""
    if built is None:  # what opcheck needs is imported while the compiler runs; a worker was forked with it
        (built,) = prepare([kernel], setting, warm_up if setting.here else None, followed=True)
    with showing(f"{'gradcheck of' if gradients_only else 'checking'} {kernel.label}", setting.progress) as show:
        so_far = _Unfinished(built, show)
        try:
            result = run(Examination((built,), sizes, gradients_only), setting, so_far.take)
            report = replace(result.value, output=result.output)
        except Died as died:
            if (
                so_far.followed and built.follower
            ):  # in the second library: what waits in ways of its own may wait for ever there
                fault = index_fault(died, built)
                again = replace(built, follower=None)
                report = _report(kernel, sizes, setting, gradients_only=gradients_only, built=again)
                more = ([fault], 0, "") if fault else ([], 0, unfollowed(died, built))
                return report if report.crash else _with_more(report, "safety", *more)
            show(f"{kernel.label} crashed: looking for the smallest size")
            report = so_far.report_of(died, setting)
        asked = setting.here or gradients_only or report.crash is not None or is_safe(kernel, setting.device)
        if not asked and NO_NONSENSE not in report["interface"].skipped:
            tries, untried = _refusals(built, sizes, setting)
            report = _with_more(report, "interface", refusal_findings(kernel, tries), len(tries), untried)
    if DEVICES[setting.device].needs_gpu and not report.ok and not setting.here:
        worker.renew()  # a fault on a GPU breaks the context for the life of the process
    if report.crash is None and not setting.here:
        mark_tried(built)
    return report


@dataclass
class _Unfinished:
    """A check under way: what its examination has told until now."""

    built: Built
    show: Show
    started: float = field(default_factory=time.perf_counter)
    plan: tuple[str, ...] = ()
    section: str = ""
    case: Case | None = None
    followed: bool = False
    sections: dict[str, Section] = field(default_factory=dict)
    matrix: dict[str, dict[str, str]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        if event.kind == "progress":
            self.show(*event.values)
        elif event.kind == "plan":
            # The worker may begin anew: what an earlier one told is forgotten.
            self.plan, self.section, self.case, self.followed = event.values[0], "", None, False
            self.sections, self.matrix = {}, {}
        elif event.kind == "section":
            self.section, self.case = event.values[0], None
        elif event.kind == "case":
            self.case, column, cells = event.values
            for quantity, cell in cells.items():
                self.matrix.setdefault(quantity, {})[column] = cell
        elif event.kind == "follow":
            self.followed = True
        elif event.kind == "finished":
            section, self.matrix = event.values
            self.sections[section.name] = section

    def report_of(self, died: Died, setting: Setting) -> Report:
        """Make the report of a kernel that took the worker down, with all that was finished before."""
        label, in_safety = self.built.kernel.label, self.section == "safety"
        # The section safety goes from the smallest size on, between guard pages: that need not be done again.
        crash = crash_of(died, self.built, setting, again=not in_safety, case=self.case, finished=tuple(self.sections))
        if in_safety:
            crash = replace(crash, smallest=crash.case)
        elif died.ending.kind in REPEATED and crash.step in ("forward", "backward") and (way := self._way_out(setting)):
            crash = replace(crash, cause=f"{crash.cause}. {way[:1].upper()}{way[1:]}".removeprefix(". "))
        name = "safety" if in_safety else "crash"
        left = [section for section in self.plan if section not in self.sections and section != name]
        text = f"{crash.sentence}{f': {crash.detail}' if crash.detail else ''}"
        finding = Finding(label, name, crash.step, text, crash.case, crash.smallest, (crash.cause,))
        ended = "did not come back" if crash.kind == "timeout" else "had crashed"
        skipped = tuple(f"{section}: the kernel {ended}" for section in left)
        sections = [self.sections[section] for section in self.plan if section in self.sections]
        sections.append(Section(name, 1, (finding,), skipped))
        seconds = time.perf_counter() - self.started
        matrix = self._marked(died, crash)
        return Report(label, setting.device, tuple(sections), matrix, seconds, crash=crash, output=died.output)

    def _way_out(self, setting: Setting) -> str:
        """Say what else may be meant where a snippet takes sizes for one that its reference takes for two, and crashes of it."""
        if setting.here or DEVICES[setting.device].needs_gpu or not twins_of(self.built.op):
            return ""
        try:
            return str(run(Together((self.built,)), setting, fresh=True).value)
        except Died:
            return ""

    def _marked(self, died: Died, crash: Crash) -> dict[str, dict[str, str]]:
        """Enter the crash into the column of the case in which it happened."""
        matrix = {quantity: dict(cells) for quantity, cells in self.matrix.items()}
        if self.case is not None:
            word = signal_name(died.ending.code) if died.ending.kind == "signal" else died.ending.kind
            for quantity, cells in matrix.items():
                if crash.step == "forward" or quantity.startswith("d_"):
                    cells[self.case.group] = word
        columns = list(dict.fromkeys(column for cells in matrix.values() for column in cells))
        return {quantity: {c: cells.get(c, "") for c in columns} for quantity, cells in matrix.items()}


@dataclass(frozen=True)
class Refusals(Task):
    """Calls with inputs that make no sense, from number `start` on."""

    sizes: list[Size] | None
    start: int

    def run(self) -> None:
        """Make them, each told before and after."""
        runner = runner_of(self.built[0])
        refusals(runner, self.sizes[0] if self.sizes else prime_size(runner.op), self.start)


def _refusals(built: Built, sizes: list[Size] | None, setting: Setting) -> tuple[list[Try], str]:
    """Hand the kernel inputs that make no sense, with a new worker after each crash, until one runs into a limit."""
    setting = replace(setting, limits=replace(setting.limits or Limits(), seconds=_NONSENSE_SECONDS))
    tries: list[Try] = []

    def on_event(event: Event) -> None:
        if event.kind == "try":
            tries.append(Try(event.values[0], event.values[1], ""))
        elif event.kind == "tried":
            tries[-1] = tries[-1]._replace(verdict=event.values[0])

    for _ in range(_MOST_CRASHES):
        began = len(tries)
        try:
            run(Refusals((built,), sizes, began), setting, on_event, fresh=True)
            break
        except Died as died:
            if len(tries) == began:
                break  # it cannot even be loaded twice
            # Also of a try that had ended: what it has damaged shows a little later.
            tries[-1] = last = tries[-1]._replace(verdict=_how(died))
            if died.ending.kind in ("timeout", "memory"):
                return tries, f"other inputs that make no sense: it {last.verdict} with {last.argument} {last.what}"
    return tries, ""


def _how(died: Died) -> str:
    """Say in a word or two how a call with nonsense ended."""
    ending = died.ending
    if ending.kind == "signal":
        return f"crashes ({signal_name(ending.code)})"
    return _ENDINGS.get(ending.kind) or f"ends the process (exit status {ending.code})"


def _with_more(report: Report, name: str, findings: Sequence[Finding], cases: int = 0, untried: str = "") -> Report:
    """Add to a section what was found after it was finished."""
    section = report[name]
    fuller = replace(
        section,
        cases=section.cases + cases,
        findings=(*section.findings, *findings),
        skipped=(*section.skipped, untried) if untried else section.skipped,
    )
    return replace(report, sections=tuple(fuller if s is section else s for s in report.sections))
