"""A check from outside: builds the kernel, has it examined, and makes a report also of one that crashes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..autopsy.crash import Crash
from ..autopsy.facts import signal_name
from ..base.device import DEVICES
from ..base.progress import Progress, showing
from ..model.registry import Kernel
from ..run.built import Built, mark_tried
from ..run.cases import Case, Size, prime_size
from ..run.executor import Task, prepare, run
from ..run.setting import Setting
from ..workers.client import worker
from ..workers.limits import Limits
from ..workers.outcome import Died
from ..workers.steps import Event
from .examine import Examination
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


def supervise(kernel: Kernel, sizes: list[Size] | None, setting: Setting, *, gradients_only: bool) -> Report:
    """Build a kernel and check it.

    Raises:
        BuildError, SignatureError, ToolchainError, CacheError: as for `build`.
        InputError: the op cannot be sent to the worker.
        KeyboardInterrupt: on Ctrl-C; the worker has stopped.
    """
    # What opcheck needs is imported while the compiler runs; a worker was forked with it.
    (built,) = prepare([kernel], setting, warm_up if setting.here else None)
    with showing(f"{'gradcheck of' if gradients_only else 'checking'} {kernel.label}", setting.progress) as say:
        told = _Told(built, say)
        try:
            result = run(Examination((built,), sizes, gradients_only), setting, told.take)
            report = replace(result.value, output=result.output)
        except Died as died:
            say(f"{kernel.label} crashed: looking for the smallest size")
            report = told.report_of(died, setting)
        asked = setting.here or gradients_only or report.crash is not None or is_safe(kernel, setting.device)
        if not asked and NO_NONSENSE not in report["interface"].skipped:
            report = _with_refusals(report, kernel, *_refusals(built, sizes, setting))
    if DEVICES[setting.device].needs_gpu and not report.ok and not setting.here:
        worker.renew()  # a fault on a GPU breaks the context for the life of the process
    if report.crash is None and not setting.here:
        mark_tried(built)
    return report


@dataclass
class _Told:
    """What the examination of a kernel has told on its way."""

    built: Built
    say: Progress
    started: float = field(default_factory=time.perf_counter)
    plan: tuple[str, ...] = ()
    section: str = ""
    case: Case | None = None
    sections: dict[str, Section] = field(default_factory=dict)
    matrix: dict[str, dict[str, str]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        if event.kind == "step":
            self.say(event.values[0])
        elif event.kind == "plan":
            # The worker may begin anew: what an earlier one told is forgotten.
            self.plan, self.section, self.case = event.values[0], "", None
            self.sections, self.matrix = {}, {}
        elif event.kind == "section":
            self.section, self.case = event.values[0], None
        elif event.kind == "case":
            self.case, column, cells = event.values
            for quantity, cell in cells.items():
                self.matrix.setdefault(quantity, {})[column] = cell
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
        name = "safety" if in_safety else "crash"
        left = [section for section in self.plan if section not in self.sections and section != name]
        text = f"{crash.sentence}{f': {crash.detail}' if crash.detail else ''}"
        finding = Finding(label, name, crash.step, text, crash.case, crash.smallest, (crash.cause,))
        skipped = tuple(f"{section}: the kernel had crashed" for section in left)
        sections = [self.sections[section] for section in self.plan if section in self.sections]
        sections.append(Section(name, 1, (finding,), skipped))
        seconds = time.perf_counter() - self.started
        matrix = self._marked(died, crash)
        return Report(label, setting.device, tuple(sections), matrix, seconds, crash=crash, output=died.output)

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


def _with_refusals(report: Report, kernel: Kernel, tries: Sequence[Try], untried: str) -> Report:
    """Add what came of inputs that make no sense to the section `interface`."""
    section = report["interface"]
    findings = (*section.findings, *refusal_findings(kernel, tries))
    skipped = (*section.skipped, untried) if untried else section.skipped
    fuller = replace(section, cases=section.cases + len(tries), findings=findings, skipped=skipped)
    return replace(report, sections=tuple(fuller if s is section else s for s in report.sections))
