"""A check from outside: builds the kernel, lets the worker examine it, and makes a report also of one that crashes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...progress import Progress, showing
from ...registry import Kernel, registry
from ..isolated import Prepared, Replay, ask_twice, crash_of, identities, prepare
from ..load import mark_tried
from ..report import Finding, Report, Section
from ..worker.client import Died, worker
from ..worker.crash import Crash
from ..worker.facts import signal_name
from ..worker.limits import Limits
from ..worker.steps import Event
from .cases import Case, Size, prime_size
from .examine import examine
from .interface import NO_NONSENSE, Try, is_safe, refusal_findings, refusals
from .replay import runner_here

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


def supervise(
    kernel: Kernel,
    sizes: list[Size] | None,
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
    progress: Progress | bool | None,
    limits: Limits | None,
    *,
    title: str,
    gradients_only: bool,
) -> Report:
    """Check a kernel in the worker.

    Raises:
        BuildError, SignatureError, ToolchainError, CacheError: as for `build`.
        InputError: the op cannot be sent.
        KeyboardInterrupt: on Ctrl-C; the worker has stopped.
    """
    prepared = prepare([kernel], device, compiler, cflags, progress)
    case = _Checked(kernel, device, compiler, cflags, limits, prepared)
    with showing(title, progress) as say:
        report = case.run(sizes, say, gradients_only=gradients_only)
        asked = gradients_only or report.crash is not None or is_safe(kernel, device)
        if not asked and NO_NONSENSE not in report["interface"].skipped:
            report = _with_refusals(report, kernel, *case.refusals(sizes))
    if device == "cuda" and not report.ok:
        worker.renew()  # a fault on a GPU breaks the context for the life of the process
    if report.crash is None:
        for built in prepared.libraries.values():
            mark_tried(built)
    return report


@dataclass
class _Told:
    """What the worker has told on its way."""

    started: float = field(default_factory=time.perf_counter)
    plan: tuple[str, ...] = ()
    section: str = ""
    case: Case | None = None
    sections: dict[str, Section] = field(default_factory=dict)
    matrix: dict[str, dict[str, str]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        if event.kind == "plan":
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


@dataclass(frozen=True)
class _Checked:
    """One kernel to be checked in the worker."""

    kernel: Kernel
    device: str
    compiler: str | None
    cflags: Sequence[str] | None
    limits: Limits | None
    prepared: Prepared

    def run(self, sizes: list[Size] | None, say: Progress, *, gradients_only: bool) -> Report:
        """Let the worker examine it."""
        told = _Told()

        def on_event(event: Event) -> None:
            say(*event.values) if event.kind == "say" else told.take(event)

        try:
            result = ask_twice(
                examine,
                *(self.kernel, sizes, self.device, self.compiler, self.cflags, None),
                gradients_only=gradients_only,
                kernels=[self.kernel],
                limits=self.limits,
                recorder=self.prepared.recorder,
                on_event=on_event,
            )
        except Died as died:
            say(f"{self.kernel.label} crashed: looking for the smallest size")
            return self._crashed(died, told)
        return replace(result.value, output=result.output)

    def _crashed(self, died: Died, told: _Told) -> Report:
        """Make the report of a kernel that took the worker down, with all that was finished before."""
        in_safety = told.section == "safety"
        crash = crash_of(
            died,
            self.kernel,
            self.device,
            self.limits,
            self.prepared,
            replay=None if in_safety else Replay(self.kernel, told.case, self.device, self.prepared),
            finished=tuple(told.sections),
        )
        if in_safety:  # which goes from the smallest size on, between guard pages
            crash = replace(crash, smallest=crash.case)
        name = "safety" if in_safety else "crash"
        left = [section for section in told.plan if section not in told.sections and section != name]
        text = f"{crash.sentence}{f': {crash.detail}' if crash.detail else ''}"
        finding = Finding(self.kernel.label, name, crash.step, text, crash.case, crash.smallest, (crash.cause,))
        skipped = tuple(f"{section}: the kernel had crashed" for section in left)
        sections = [told.sections[section] for section in told.plan if section in told.sections]
        sections.append(Section(name, 1, (finding,), skipped))
        return Report(
            self.kernel.label,
            self.device,
            tuple(sections),
            _marked(told, died, crash),
            time.perf_counter() - told.started,
            crash=crash,
            output=died.output,
        )

    def refusals(self, sizes: list[Size] | None) -> tuple[list[Try], str]:
        """Hand the kernel inputs that make no sense, with a new worker after each crash, until one runs into a limit."""
        op = registry.op_of(self.kernel)
        tries: list[Try] = []
        for _ in range(_MOST_CRASHES):
            began = len(tries)

            def on_event(event: Event) -> None:
                if event.kind == "try":
                    tries.append(Try(event.values[0], event.values[1], ""))
                elif event.kind == "tried":
                    tries[-1] = tries[-1]._replace(verdict=event.values[0])

            try:
                worker.run(
                    refusals_here,
                    *(self.kernel, sizes, len(tries), self.device, self.compiler, self.cflags),
                    op=op,
                    who=identities([self.kernel]),
                    limits=replace(self.limits or Limits(), seconds=_NONSENSE_SECONDS),
                    recorder=self.prepared.recorder,
                    fresh=bool(tries),
                    on_event=on_event,
                )
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


def _marked(told: _Told, died: Died, crash: Crash) -> dict[str, dict[str, str]]:
    """Enter the crash into the column of the case in which it happened."""
    matrix = {quantity: dict(cells) for quantity, cells in told.matrix.items()}
    if told.case is not None:
        word = signal_name(died.ending.code) if died.ending.kind == "signal" else died.ending.kind
        for quantity, cells in matrix.items():
            if crash.step == "forward" or quantity.startswith("d_"):
                cells[told.case.group] = word
    columns = list(dict.fromkeys(column for cells in matrix.values() for column in cells))
    return {quantity: {c: cells.get(c, "") for c in columns} for quantity, cells in matrix.items()}


def _with_refusals(report: Report, kernel: Kernel, tries: Sequence[Try], untried: str) -> Report:
    """Add what came of inputs that make no sense to the section `interface`."""
    section = report["interface"]
    findings = (*section.findings, *refusal_findings(kernel, tries))
    skipped = (*section.skipped, untried) if untried else section.skipped
    fuller = replace(section, cases=section.cases + len(tries), findings=findings, skipped=skipped)
    return replace(report, sections=tuple(fuller if s is section else s for s in report.sections))


def refusals_here(
    kernel: Kernel,
    sizes: list[Size] | None,
    start: int,
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
) -> None:
    """Make the calls with nonsense from number `start` on; for the worker."""
    runner = runner_here(kernel, device, compiler, cflags)
    refusals(runner, sizes[0] if sizes else prime_size(runner.op), start)
