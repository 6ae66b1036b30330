"""Build, Check and Benchmark: each calls the public function of that name, and shows what came of it in the panel.

They run in the panel's background thread, and are stopped through `lltm_inline.base.stop`.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from ...autopsy.crash import Crash
from ...base.arguments import plural
from ...base.stop import raise_if_stopped
from ...build.compiler import Build, build
from ...checking.check import check
from ...checking.report import Report
from ...errors import BuildError, CheckError, CrashError, DefinitionError, TemplateError
from ...journal import journal
from ...measure.benchmark import benchmark
from ...measure.inputs import Ring
from ...model.kernel import Kernel
from ...model.registry import registry
from ...run.setting import choose_sizes
from ...source.template import devices_of
from ...tables.partial import Partial
from ...tables.timings import Timings
from ...workers.client import worker
from ..bars import picture
from .board import in_html
from .marks import mark_of_crash, marks_of, marks_of_words, without_place
from .session import Task

#: The revisions that were right, beside the one in the editor, that a benchmark times.
_MOST_TIMED = 4
#: Between two lines of progress; nobody reads faster, and each is a message to the browser.
_SAID_SECONDS = 0.2
_WORKER_SECONDS = 1.0
#: Held by the panel that times: two at once would each time the other.
_timing = threading.Lock()
_POLL_SECONDS = 0.05


class _Say:
    """Passes progress on to the panel, numbers that only count not too often; and how large the worker is."""

    def __init__(self, task: Task) -> None:
        self._session = task.session
        self._last, self._said, self._looked = "", 0.0, 0.0
        self._watched = False

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None:
        now = time.monotonic()
        words = re.sub(r"\d+", "", text)
        if words != self._last or now - self._said >= _SAID_SECONDS:
            self._last, self._said = words, now
            self._session.progress(text, done, total)
        if now - self._looked >= _WORKER_SECONDS:
            self.look()

    def counted(self, _done: int, _total: int, text: str) -> None:
        """Take the progress of a benchmark, until its rounds begin and say more."""
        if not self._watched:
            self(text)

    def watch(self, partial: Partial) -> None:
        """Show a benchmark that is under way."""
        self._watched = True
        self._session.tell(plot=picture(partial, width=self._session.width), verdict=_sentences(partial))
        if partial.running is not None:
            self(f"{partial.running.where}: {partial.running.text}", round(100 * partial.running.share), 100)

    def look(self) -> None:
        """Tell the number and the memory of the worker."""
        self._looked = time.monotonic()
        self._session.tell(worker={"pid": worker.pid or 0, "mib": round(worker.memory / 2**20)})


def build_draft(task: Task) -> None:
    """Build the kernel, and check it if the panel says so."""
    if _built(task) and task.check_first and task.can_run:
        _checked(task, task.kernel)


def check_draft(task: Task) -> None:
    """Build the kernel if need be, and check it."""
    if _built(task):
        _checked(task, task.kernel)


def benchmark_draft(task: Task) -> None:
    """Check the kernel, then time it beside the reference, what ships, and the revisions that are right."""
    if not _built(task):
        return
    if not _is_right(task, task.kernel):
        task.session.log(f"{task.kernel.label} was not timed: it is wrong", "bad")
        return
    shipped = registry.history(task.kernel.name)[0]
    kernels = _entrants(task, shipped)
    say = _Say(task)
    setting = task.session.setting
    baseline = shipped if shipped in kernels and shipped != task.kernel else kernels[0]
    directions = _directions(task)
    try:
        with _alone(task):
            timings = benchmark(
                kernels,
                setting.sizes,
                baseline=baseline,
                directions=directions,
                device=task.device,
                seconds=setting.seconds,
                check=False,
                progress=say.counted,
                watch=say.watch,
                compiler=setting.compiler,
            )
    except KeyboardInterrupt as interrupt:
        _show_timings(task, getattr(interrupt, "timings", None))
        raise
    except CheckError as error:
        _wrong(task, _named(kernels, str(error)), str(error), error.report)
    except CrashError as error:
        _show_timings(task, Timings(error.timings, baseline.label) if error.timings else None)
        _crashed(task, _named(kernels, f"'{error.crash.kernel}'"), error.crash)
    else:
        _show_timings(task, timings)
        lines = _sentences(timings).split("\n")
        task.session.log(next((line for line in lines if line.startswith(f"{task.kernel.label} ")), lines[0]))
    finally:
        say.look()


@contextmanager
def _alone(task: Task) -> Iterator[None]:
    """Wait until no other panel times anything, and keep others from it.

    Raises:
        KeyboardInterrupt: it was stopped while it waited.
    """
    if not _timing.acquire(blocking=False):
        task.session.phase("benchmark", "waiting for the other panel's benchmark")
        while not _timing.acquire(timeout=_POLL_SECONDS):
            raise_if_stopped()
    try:
        task.session.phase("benchmark", f"benchmark of {task.kernel.label}")
        yield
    finally:
        _timing.release()


VERBS: dict[str, Callable[[Task], None]] = {
    "build": build_draft,
    "check": check_draft,
    "benchmark": benchmark_draft,
}


def _built(task: Task) -> bool:
    """Build the kernel; show why it does not compile."""
    session, kernel = task.session, task.kernel
    session.tell(details="")
    session.outcome(kernel, marks=[])
    if kernel.python is not None:
        if task.verb == "build":
            raise DefinitionError(
                f"kernel {kernel.label!r} is a Python function: there is nothing to build. Choose another kernel, or write "
                f"one in a cell that begins with %%kernel {kernel.op}/mine"
            )
        return True
    try:
        built = build(
            kernel,
            device=task.device,
            compile_only=not task.can_run,
            compiler=session.setting.compiler,
            progress=_Say(task),
        )
    except BuildError as error:
        _failed(task, error)
        return False
    except (TemplateError, DefinitionError) as error:  # no text that could be compiled comes of it
        journal.mark(kernel, "failed", "cannot be rendered")
        session.outcome(kernel, marks=marks_of_words(kernel, str(error)))
        raise
    if journal.state(kernel.label)[0] in ("new", "failed"):
        journal.mark(kernel, "built")
    _tell_built(task, built)
    return True


def _tell_built(task: Task, built: Build) -> None:
    session = task.session
    how = f"built {built.kernel} in {built.seconds:.1f} s" if not built.cached else f"{built.kernel} is in the cache"
    if not task.can_run:
        how += "; it compiles, and needs a GPU to run"
    if task.verb == "build" or not built.cached:
        session.log(how, "good")
    if task.verb == "build":
        session.outcome(task.kernel, report=in_html(built))
    session.revisions()


def _failed(task: Task, error: BuildError) -> None:
    """Show a kernel that does not compile."""
    session = task.session
    marks = marks_of(task.kernel, task.device, error.diagnostics)
    errors = sum(mark["severity"] == "error" for mark in marks)
    hint = plural(errors, "error") if errors else "does not compile"
    journal.mark(task.kernel, "failed", hint)
    session.outcome(task.kernel, marks=marks, report=in_html(error))  # with the full log behind a fold
    rest = without_place(marks, error.diagnostics)
    session.log(str(error).partition("\n")[0] + (f": {rest[0].message}" if rest and not marks else ""), "bad")


def _checked(task: Task, kernel: Kernel) -> bool:
    """Check a kernel and show the report."""
    session = task.session
    say = _Say(task)
    session.phase("check", f"check of {kernel.label}")
    report = check(kernel, device=task.device, compiler=session.setting.compiler, progress=say)
    say.look()
    if report.ok:
        session.right.add((kernel, task.device))
        journal.mark(kernel, "right")
        session.outcome(kernel, report=in_html(report))
        session.log(f"{report.headline} ({report.seconds:.1f} s)", "good")
    elif report.crash is not None:
        _crashed(task, kernel, report.crash, report)
    else:
        _wrong(task, kernel, report.headline, report)
    session.revisions()
    return report.ok


def _is_right(task: Task, kernel: Kernel) -> bool:
    """Tell whether a kernel is right; check it unless this session has seen it."""
    is_reference = kernel.python is task.session.op.reference
    return is_reference or (kernel, task.device) in task.session.right or _checked(task, kernel)


def _wrong(task: Task, kernel: Kernel, text: str, report: Report | None) -> None:
    task.session.right.discard((kernel, task.device))
    count = len(report.findings) if report else 0
    journal.mark(kernel, "wrong", plural(count, "finding") if count else text)
    if report is not None:
        task.session.outcome(kernel, report=in_html(report))
    task.session.log(text, "bad")


def _crashed(task: Task, kernel: Kernel, crash: Crash, report: Report | None = None) -> None:
    task.session.right.discard((kernel, task.device))
    journal.mark(kernel, "crashed", crash.what)
    marks = mark_of_crash(kernel, task.device, crash)
    task.session.outcome(kernel, marks=marks, report=in_html(report or crash))
    task.session.log(crash.headline, "bad")


def _entrants(task: Task, shipped: Kernel) -> list[Kernel]:
    """List what is timed: the reference, what ships if it is right, the last revisions that are right, the one in the editor."""
    session, kernel = task.session, task.kernel
    first = [registry[f"{kernel.op}/python"]]
    if shipped != kernel and task.device in devices_of(shipped) and _quietly_right(task, shipped):
        first.append(shipped)
    known = [one for one in registry.history(kernel.name) if (one, task.device) in session.right]
    others = [one for one in known if one not in (*first, kernel)][-_MOST_TIMED:]
    return list(dict.fromkeys([*first, *others, kernel]))


def _quietly_right(task: Task, kernel: Kernel) -> bool:
    """Check what ships for the comparison; its report is not what the person asked for."""
    session = task.session
    if (kernel, task.device) not in session.right:
        session.phase("check", f"check of {kernel.label}, to compare with")
        try:
            report = check(kernel, device=task.device, compiler=session.setting.compiler, progress=_Say(task))
        except BuildError as error:
            session.log(f"{kernel.label} is left out of the benchmark: {str(error).partition(chr(10))[0]}")
            return False
        if not report.ok:
            session.log(f"{kernel.label} is left out of the benchmark: {report.headline}")
            return False
        session.right.add((kernel, task.device))
        journal.mark(kernel, "right")
    return True


def _directions(task: Task) -> list[str]:
    """Time forward and backward in one go; forward alone where nothing has a gradient."""
    op = task.session.op
    size = choose_sizes(op, task.session.setting.sizes)[0]
    return ["both"] if Ring(op, size, dtype=torch.float32, device=task.device).names else ["forward"]


def _show_timings(task: Task, timings: Timings | None) -> None:
    if timings is not None and timings.rows:
        plot = picture(timings, width=task.session.width)
        task.session.tell(plot=plot, verdict=_sentences(timings), timings=in_html(timings))


def _sentences(timings: Timings) -> str:
    """Return the verdict without its lines for each size."""
    return "\n".join(line for line in timings.verdict().split("\n") if not line.startswith("  "))


def _named(kernels: list[Kernel], words: str) -> Kernel:
    """Find the kernel of which a message speaks; the one in the editor where it names none."""
    return next((kernel for kernel in kernels if f"'{kernel.label}'" in words), kernels[-1])
