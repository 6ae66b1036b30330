"""Build, Check and Benchmark: what the pipeline yields is shown in the panel.

They run in the panel's background thread, and are stopped through `lltm_inline.base.stop`.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch

from ...analysis.assembly import Assembly, assembly
from ...analysis.hot import Hot
from ...analysis.roofline import roofline
from ...base.device import DEVICES
from ...base.stop import raise_if_stopped, stoppable
from ...checking.check import check
from ...checking.report import Report
from ...compiling.cache import read_manifest
from ...compiling.compiler import Build
from ...compiling.job import make_job
from ...compiling.toolchain import find_toolchain
from ...errors import BuildError, CheckError, CrashError, DefinitionError, LltmInlineError, TemplateError
from ...measure.counts import can_count
from ...measure.inputs import Ring
from ...measure.trace import trace
from ...model.kernel import Kernel
from ...model.outcomes import is_about
from ...model.registry import registry
from ...run.setting import Setting, choose_sizes
from ...show.parts import note, page
from ...show.views.analysis import listing
from ...source.template import devices_of
from ...tables.counts import Counts
from ...tables.partial import Pace, Partial
from ...tables.timings import Timings
from ...workers.client import worker
from ..pipeline import Began, Order, carry_out
from ..plot import plot
from .board import card_of, in_html
from .editor import mark_of_crash, marks_of, marks_of_remarks, marks_of_words, without_place
from .session import Session

#: The revisions that were right, beside the one in the editor, that a benchmark times.
_MOST_TIMED = 4
#: Between two lines of progress; nobody reads faster, and each is a message to the browser.
_SAID_SECONDS = 0.2
_WORKER_SECONDS = 1.0
#: Held by the panel that times: two at once would each time the other.
_timing = threading.Lock()
_POLL_SECONDS = 0.05


def work(session: Session, verb: str, kernel: Kernel) -> Callable[[], None]:
    """Return what a button does with a kernel, and how that is shown; `assembly` and `read` are done beside them."""
    done = _Work(session, verb, kernel)
    return {"assembly": done.list_assembly, "read": done.read}.get(verb, done.run)


class _Work:
    """One press of a button, with the device and the options as they were then."""

    def __init__(self, session: Session, verb: str, kernel: Kernel) -> None:
        self.session, self.verb, self.kernel, self.device = session, verb, kernel, session.device
        self.check_first, self.how = bool(session.state["options"]["check_first"]), session.how
        self.can_run = not DEVICES[self.device].needs_gpu or torch.cuda.is_available()
        self.kernels, self.baseline = [kernel], kernel
        self._last, self._watched = "", False
        self._saying, self._looking = Pace(_SAID_SECONDS), Pace(_WORKER_SECONDS)
        if verb != "read":  # another listing, or a verb, which lists anew what it has built
            session.end_listing.set()
            self.end = session.end_listing = threading.Event()
        if verb != "assembly":
            self.asked = session.front_end.ask()

    def run(self) -> None:
        """Build; check if the button says so, and before timing unless it is known to be right; time."""
        session, kernel = self.session, self.kernel
        session.tell(details="")
        session.outcome(kernel, marks=[])
        if kernel.python is not None and self.verb == "build":
            raise DefinitionError(
                f"kernel {kernel.label!r} is a Python function: there is nothing to build. Choose another kernel, or write "
                f"one in a cell that begins with %%kernel {kernel.op}/mine"
            )
        is_known = kernel.python is session.op.reference or (kernel, self.device) in session.right
        asked = {"build": self.check_first and self.can_run, "check": True, "benchmark": not is_known}[self.verb]
        setting = Setting(self.device, session.setting.compiler, progress=self.progress)
        order = Order(kernel, setting, asked)
        if self.verb == "benchmark" and DEVICES[self.device].count_flags:  # where no time would be that of a GPU
            order = replace(order, counts=self._compared)
        elif self.verb == "benchmark":
            order = replace(order, benchmark=self._contest)
        try:
            with ExitStack() as timing, ExitStack() as building:
                building.enter_context(_held(session.compiling))
                for found in carry_out(order):
                    if isinstance(found, Began) and found.part == "benchmark":
                        timing.enter_context(self._alone())
                    if isinstance(found, Build) and self.verb != "benchmark":  # which builds more, and must have peace
                        building.close()
                    self._show(found)
        except KeyboardInterrupt as interrupt:
            self._timed(getattr(interrupt, "timings", None))
            raise
        except BuildError as error:
            if error.kernel != kernel.label:  # another one, which was to be timed with it
                raise
            self._failed(error)
        except (TemplateError, DefinitionError) as error:  # no text that could be compiled comes of it
            session.outcome(kernel, marks=marks_of_words(kernel, str(error)))
            raise
        except (CheckError, CrashError) as error:
            self._fell(error)
        finally:
            self._look()
            session.revisions()

    def list_assembly(self) -> None:
        """List the machine code of the kernel, which comes out of the cache; with what the compiler says, and hot lines, if asked."""
        session = self.session
        setting: dict[str, Any] = {"device": self.device, "compiler": session.setting.compiler, "progress": False}
        asked, is_right = session.state["options"], (self.kernel, self.device) in session.right
        if DEVICES[self.device].text == "cpp":
            setting["remarks"] = asked["remarks"]
            if asked["hot_lines"] and is_right:
                setting["hot"] = choose_sizes(session.op, self.how.get("sizes", session.setting.sizes) or None)[0]
        try:
            with stoppable(self.end), _held(session.compiling), _held(_timing) if "hot" in setting else nullcontext():
                found = replace(assembly(self.kernel, **setting), other=self._parent())
                values = self._values() if asked["values"] else ""
            if asked["hot_lines"] and not is_right:
                hot = Hot("", missing="Where the time goes is told of a kernel that is right: Check it.")
                found = replace(found, hot=hot)
            shown: str = values + page(listing(found))
            remarks = found.remarks or ()
        except KeyboardInterrupt:  # it was ended
            return
        except LltmInlineError as error:
            shown, remarks = card_of(error), ()
        with session.lock:
            if (self.kernel.label, self.device) == (session.state["current"]["label"], session.device):
                session.tell(assembly=shown)
                session.remark(self.kernel, marks_of_remarks(self.kernel, remarks))

    def _values(self) -> str:
        """Show what the threads load and store, at the first of the sizes in the field: what went wrong, the picture, the table."""
        sizes = choose_sizes(self.session.op, self.how["sizes"])[0] if self.how.get("sizes") else None
        try:
            with warnings.catch_warnings(record=True) as caught:
                found = trace(self.kernel, sizes=sizes, compiler=self.session.setting.compiler, progress=False)
        except LltmInlineError as error:
            return card_of(error)
        said = str(page(*(note("bad", str(one.message)) for one in caught)))
        return said + (in_html(plot(found)) if found.rows else "") + in_html(found)

    def _parent(self) -> Assembly | None:
        """List the machine code of what the kernel was edited from, if the cache has it: it is worth no compiler."""
        parent, compiler = registry.parent_of(self.kernel), self.session.setting.compiler
        if parent is None or self.device not in devices_of(parent) or DEVICES[self.device].needs_gpu:
            return None
        try:
            job = make_job(parent, find_toolchain(compiler, device=self.device))
        except LltmInlineError:  # a text of which no job can be made
            return None
        is_built = read_manifest(job.key) is not None
        return assembly(parent, device=self.device, compiler=compiler, progress=False) if is_built else None

    def read(self) -> None:
        """Mark what the compiler's front end says of a text that is being typed."""
        session, kernel = self.session, self.kernel
        try:
            job = make_job(kernel, find_toolchain(session.setting.compiler, device=self.device))
            with session.compiling:
                found = session.front_end.read(job, self.asked)
        except BuildError as error:  # its functions do not fit the op
            found = error.diagnostics
        except (TemplateError, DefinitionError) as error:
            session.read(kernel, marks_of_words(kernel, str(error)))
            return
        except LltmInlineError:  # no compiler: Build says so
            return
        if found is not None:
            session.read(kernel, marks_of(kernel, self.device, found))

    def _contest(self) -> dict[str, Any]:
        """Choose what the kernel is timed against: the reference, what ships if it is right, the last revisions that are right."""
        session, kernel = self.session, self.kernel
        shipped = registry.history(kernel.name)[0]
        kernels = [registry[f"{kernel.op}/python"]]
        if shipped != kernel and self.device in devices_of(shipped) and self._is_right(shipped):
            kernels.append(shipped)
        known = [one for one in registry.history(kernel.name) if (one, self.device) in session.right]
        others = [one for one in known if one not in (*kernels, kernel)][-_MOST_TIMED:]
        self.kernels, self.baseline = list(dict.fromkeys([*kernels, *others, kernel])), kernels[-1]
        sizes = choose_sizes(session.op, self.how.get("sizes", session.setting.sizes) or None)
        # Forward and backward in one go; forward alone where nothing has a gradient.
        names = Ring(session.op, sizes[0], dtype=torch.float32, device=self.device).names
        return {
            "kernels": self.kernels,
            "sizes": sizes,
            "baseline": self.baseline,
            "directions": self.how.get("directions", ["both"] if names else ["forward"]),
            "seconds": self.how.get("seconds", session.setting.seconds),
            "check": False,
            "watch": self.watch,
        }

    def _compared(self) -> dict[str, Any]:
        """Choose beside what the kernel is counted: what ships, if it is right."""
        contest = self._contest()
        kernels = dict.fromkeys(filter(can_count, (self.baseline, self.kernel)))
        return {"kernels": list(kernels), "sizes": contest["sizes"][:1]}

    def _is_right(self, kernel: Kernel) -> bool:
        """Check what ships for the comparison; its report is not what the person asked for."""
        session = self.session
        if (kernel, self.device) not in session.right:
            session.phase("check", f"check of {kernel.label}, to compare with")
            try:
                report = check(kernel, device=self.device, compiler=session.setting.compiler, progress=self.progress)
                why = "" if report.ok else report.headline
            except BuildError as error:
                why = str(error).partition("\n")[0]
            if why:
                session.log(f"{kernel.label} is left out of the benchmark: {why}")
                return False
            session.right.add((kernel, self.device))
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until no other panel times anything, and keep others from it."""
        if _timing.locked():
            self.session.phase("benchmark", "waiting for the other panel's benchmark")
        with _held(_timing):
            yield

    # What is shown

    def progress(self, text: str, done: int = 0, total: int = 0) -> None:
        """Pass progress on, numbers that only count not too often; the rounds of a benchmark say more by themselves."""
        if self._watched and not total:
            return
        words = "".join(letter for letter in text if not letter.isdigit())
        if words != self._last or self._saying.due:
            self._last = words
            self._saying.told()
            self.session.progress(text, done, total)
        if self._looking.due:
            self._look()

    def watch(self, partial: Partial) -> None:
        """Show a benchmark that is under way."""
        self._watched = True
        self.session.tell(plot=in_html(partial), verdict=_sentences(partial))
        if partial.running is not None:
            self.progress(f"{partial.running.where}: {partial.running.text}", round(100 * partial.running.share), 100)

    def _look(self) -> None:
        """Tell the number and the memory of the worker."""
        self._looking.told()
        self.session.tell(worker={"pid": worker.pid or 0, "mib": round(worker.memory / 2**20)})

    def _show(self, found: Began | Build | Report | Timings | Counts) -> None:
        session = self.session
        if isinstance(found, Began):
            button = "benchmark" if found.part == "counts" else found.part
            session.phase(button, found.text)
        elif isinstance(found, Build):
            self._built(found)
        elif isinstance(found, Timings):
            self._timed(found)
            if session.state["options"]["roofline"]:
                try:
                    under_roofs = in_html(roofline(found, progress=self.progress))
                except LltmInlineError as error:
                    under_roofs = card_of(error)
                session.tell(plot=session.state["plot"] + under_roofs)
            lines = _sentences(found).split("\n")
            session.log(next((line for line in lines if line.startswith(f"{self.kernel.label} ")), lines[0]))
        elif isinstance(found, Counts):
            own = found.select(kernel=self.kernel.label)
            session.tell(plot=in_html(plot(own)) if own.total("load", "requests") else "")
            said, label = found.verdict(), self.kernel.label  # a verdict that does not name it is of something else
            session.tell(verdict=said if label in said else f"{label}: {said}", timings=in_html(found))
            session.log(f"{label} is counted, and not timed: no time on {self.device} is that of a GPU", "good")
        elif not found.wrong:  # else an error follows
            session.right.update([(self.kernel, self.device)] * found.ok)
            session.outcome(self.kernel, report=in_html(found))
            session.log(f"{found.headline} ({found.seconds:.1f} s)", "good" if found.ok else "info")
            if session.state["options"]["hot_lines"]:
                session.list_assembly()
        session.revisions()

    def _built(self, built: Build) -> None:
        session = self.session
        how = f"{built.kernel} is in the cache" if built.cached else f"built {built.kernel} in {built.seconds:.1f} s"
        if not self.can_run:
            how += "; it compiles, and needs a GPU to run"
        if self.verb == "build" or not built.cached:
            session.log(how, "good")
        if self.verb == "build":
            session.outcome(self.kernel, report=in_html(built))
        session.outcome(self.kernel, marks=marks_of(self.kernel, self.device, built.warnings))
        session.list_assembly()

    def _failed(self, error: BuildError) -> None:
        marks = marks_of(self.kernel, self.device, error.diagnostics)
        self.session.outcome(self.kernel, marks=marks, report=in_html(error))  # with the full log behind a fold
        rest = without_place(marks, error.diagnostics)
        said = str(error).partition("\n")[0] + (f": {rest[0].message}" if rest and not marks else "")
        self.session.log(said, "bad")

    def _fell(self, error: CheckError | CrashError) -> None:
        """Show a kernel that is wrong or crashes, in its check or while it was timed."""
        session, kernel, crash = self.session, self._named(str(error)), getattr(error, "crash", None)
        session.right.discard((kernel, self.device))
        if isinstance(error, CrashError):
            self._timed(Timings(error.timings, self.baseline.label) if error.timings else None)
            session.outcome(kernel, marks=mark_of_crash(kernel, self.device, error.crash))
        if shown := error.report or crash:
            session.outcome(kernel, report=in_html(shown))
        session.log(crash.headline if crash else str(error), "bad")
        if error.report and self.verb == "benchmark":
            session.log(f"{kernel.label} was not timed: it is wrong", "bad")

    def _timed(self, timings: Timings | None) -> None:
        if timings is not None and timings.rows:
            self.session.tell(plot=in_html(timings), verdict=_sentences(timings), timings="")

    def _named(self, text: str) -> Kernel:
        """Find the kernel of which a message speaks; the one in the editor where it names none."""
        text = text.partition("\n")[0]
        return next((one for one in self.kernels if is_about(one, text)), self.kernel)


@contextmanager
def _held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; who waits for it can be stopped."""
    while not lock.acquire(timeout=_POLL_SECONDS):
        raise_if_stopped()
    try:
        yield
    finally:
        lock.release()


def _sentences(timings: Timings) -> str:
    """Return the verdict without its lines for each size."""
    return "\n".join(line for line in timings.verdict().split("\n") if not line.startswith("  "))
