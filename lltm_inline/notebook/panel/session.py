"""What the panel does, without any widget: its state as plain values, and its verbs, which run in one background thread.

A session calls its listeners with the values that have changed. The widget passes these on to the browser; tests read them.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ... import journal
from ...base.arguments import one_of, refusal, shown, string
from ...base.device import DEVICES
from ...base.stop import stoppable
from ...compiling.front_end import FrontEnd
from ...errors import DefinitionError, InputError, UnknownKernelError
from ...model.kernel import Kernel
from ...model.op import Op
from ...model.registry import diff, registry
from ...run.setting import choose_sizes
from ...source.signature import skeleton
from ...source.template import devices_of, usual_device
from ...tables.timings import GLANCE_SECONDS
from ..completion import words_of
from ..options import parse_how
from ..verbs import cell_of, cell_of_op
from .board import IDLE, Board, card_of, history_of, left_of, revisions_of, texts_of
from .capture import captured
from .editor import controls_of, fixed


@dataclass(frozen=True)
class PanelSetting:
    """How the panel builds and times, as `build` and `benchmark` take it; with None for the op's own sizes."""

    sizes: Sequence[Any] | None = None
    compiler: str | None = None
    seconds: float = GLANCE_SECONDS


#: Options of what stands in the pane with the machine code; asking for one of the others opens it.
_IN_PANE = ("assembly", "remarks", "hot_lines", "values")


class Session(Board):
    """One panel: an op, the kernel that is being edited, and what is known of it.

    Args:
        kernel: that is shown first.
        device: None for the first that the kernel has a text for and this machine has.
        setting: how to build and time.
        work: makes what `build`, `check` or `benchmark` does with a kernel: a function without arguments.
        note: for the journal's place in the panel.
        draft: begin with the text that was left in the editor, if there is one.

    Example:
        >>> session = Session(registry["axpy/cpp"])
        >>> session.state["current"]["label"], session.state["params"]["A"]
        ('axpy/cpp', 2)
    """

    def __init__(
        self,
        kernel: Kernel,
        device: str | None = None,
        setting: PanelSetting | None = None,
        *,
        work: Callable[[Session, str, Kernel], Callable[[], None]] = lambda session, verb, kernel: lambda: None,
        note: str = "",
        draft: bool = True,
    ) -> None:
        super().__init__()
        self.setting = setting or PanelSetting()
        self._work = work
        self.op: Op = registry.op_of(kernel)
        #: Kernels that this panel has seen to be right, by device.
        self.right: set[tuple[Kernel, str]] = set()
        #: What the panel's field says of sizes, seconds, directions and flags, as it last made sense: those that it names.
        self.how: dict[str, Any] = {}
        #: What was last said of a revision, by label: its report, its marks, and what the compiler remarks of its lines.
        self._outcomes: dict[str, dict[str, Any]] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        #: What is done beside the verb that runs: machine code is listed, a text that is being typed is read.
        self._beside: dict[str, threading.Thread] = {}
        self.front_end = FrontEnd()
        #: Held while something is compiled for this panel: a text that is typed, what the compiler says of it, a revision.
        self.compiling = threading.Lock()
        #: Ends the listing of machine code that is under way.
        self.end_listing = threading.Event()
        if kernel.name not in registry or kernel not in registry.history(kernel.name):
            registry.register(kernel)
        self._base = kernel
        self.device = ""
        self.tell(title=self.op.name, journal={"saved": 0, "note": note, "notebook": journal.notebook()})
        self._show(kernel, device, draft=draft)

    # What the browser asks for

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """Do what a button asks for; whatever goes wrong is shown.

        Args:
            message: `{"do": "build"}` and the like, with `texts` and `params` as they stand in the editor, and the `generation`
                of the text that they are an edit of.

        Returns:
            An answer for the browser, or None.
        """
        if message.get("do") == "ping":  # answered at once, even while the lock is held
            return {"tell": "pong", "now": time.time()}
        with self.lock:
            try:
                with captured(self.log):
                    return self._handle(message)
            except Exception as error:  # shown in the panel, where the person looks
                self.fail(error)
                return None

    def _handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        what = message.get("do")
        self.edit(options=message.get("options"))
        if message.get("generation") in (None, self.state["generation"]):
            self.edit(message.get("texts"), message.get("params"))
        elif what == "edit":
            self.log("what was typed before this text came is left out: it was meant for another one")
        verbs: dict[Any, Callable[[], Any]] = {
            "select": lambda: self.select(message.get("name"), message.get("device"), message.get("revision")),
            "edit": lambda: None,
            "stop": self.stop,
            "revert": self.revert,
            "diff": lambda: self.diff(message.get("against")),
            "apply": lambda: self.apply(message.get("mark")),
            "copy": lambda: self.copy(message.get("kind")),
            "new": lambda: self.new(message.get("name")),
            **{verb: partial(self.start, verb) for verb in ("build", "check", "benchmark")},
        }
        if not isinstance(what, str) or what not in verbs:
            raise InputError(f"the panel cannot do {shown(what)}; it can {', '.join(verbs)}")
        answer = verbs[what]()
        return answer if isinstance(answer, dict) else None

    def edit(self, texts: Any = None, params: Any = None, options: Any = None) -> None:
        """Take the text, params or options as they stand in the panel.

        Raises:
            InputError: they are none.
        """
        with self.lock:
            for name, value in (("texts", texts), ("params", params), ("options", options)):
                if value is not None and not isinstance(value, Mapping):
                    raise refusal(name, value, "a dict by name")
            if options is not None:
                before = self.state["options"]
                now = {**before, **options}
                unread = self._read_how(string("how", now["how"]))
                if any(now[name] and not before[name] for name in _IN_PANE[1:]):
                    now["assembly"] = True
                self.tell(options=now)
                if any(now[name] != before[name] for name in _IN_PANE):
                    self.list_assembly()
                self.tell(dirty=self._differs())
                if unread is not None:
                    raise unread
                if now["how"] != before["how"]:
                    self.log(f"sizes and flags: {now['how'] or 'as usual'}, from the next Build or Benchmark on")
            if self._base.python is None:
                self._take(texts or {}, params or {})

    def _read_how(self, text: str) -> InputError | None:
        """Read the field of sizes and flags. What makes no sense stays in it, and nothing runs with other sizes meanwhile."""
        try:
            how = parse_how(text)
            if how.get("sizes"):
                choose_sizes(self.op, how["sizes"])
        except InputError as error:
            return InputError(str(error).removeprefix("%%kernel: "))
        self.how = how
        return None

    def _take(self, texts: Mapping[str, Any], params: Mapping[str, Any]) -> None:
        # Values for texts and params that this kernel has not are late ones of the kernel shown before.
        kept = {kind: text for kind, text in texts.items() if kind in self.state["texts"] and isinstance(text, str)}
        # JavaScript has no integers: 2.0 arrives as 2, which C++ divides in another way.
        usual = self._base.params
        numbers = {
            name: float(number) if isinstance(usual[name], float) else number
            for name, number in params.items()
            if name in usual and isinstance(number, int | float)
        }
        past = (self.state["texts"], self.state["params"])
        self.tell(texts={**past[0], **kept}, params={**past[1], **numbers})
        if past != (self.state["texts"], self.state["params"]):
            dirty = self._differs()
            if dirty:
                journal.save_draft(self._base.name, self.state["texts"], self.state["params"], self._base.label)
            else:
                journal.drop_draft(self._base.name)
            self.tell(dirty=dirty)  # not before it is kept: the kernel may be restarted at any moment
            self._saved()
            self._read_draft()

    def select(self, name: str | None = None, device: str | None = None, revision: int | str | None = None) -> None:
        """Show another kernel of the op, another device, or another revision.

        Raises:
            UnknownKernelError: there is no such kernel or revision.
            InputError: the kernel is of another op, or has no text for the device.
        """
        with self.lock:
            if name is None and revision is None:
                self._choose_device(self._base, device)
                self._current()
                self.list_assembly()
                self.log(f"{self._base.label} is meant for {self.device} now")
                return
            label = self._base.name if name is None else name
            kernel = registry[label if revision is None else f"{label}@{revision}"]
            if kernel.op != self.op.name:
                raise InputError(f"this panel is of op {self.op.name!r}: {kernel.label!r} needs a panel of its own")
            edited = self.state["dirty"] and kernel.name == self._base.name
            kept = self._keep() if edited else ""
            self._show(kernel, device or self.device, draft=revision is None)
            if not self.state["dirty"] and (kept or not edited):  # else there was more to say, and it has been said
                self.log(f"{self._base.label} is in the editor{kept}")

    def revert(self) -> None:
        """Throw the edits away; where there are none, go back to the revision that this one was edited from."""
        with self.lock:
            back = self._base if self.state["dirty"] else registry.before(self._base)
            if back is None:
                self.log(f"{self._base.label} is the first revision: there is nothing to go back to")
                return
            kept = self._keep()
            if back.python is None:
                registry.register(back)
            self._show(back, self.device, draft=False)
            self.log(f"{back.label} is the current revision{kept}")

    def _keep(self) -> str:
        """Make a revision of an edit that is to leave the editor, so that it is not lost; return what is to be said of it."""
        if not self.state["dirty"]:
            return ""
        try:
            kept = registry.register(self.draft())
        except DefinitionError as error:  # a text that can be no kernel, an empty one
            self.log(f"your edit could not be kept: {error}", "bad")
            return ""
        journal.drop_draft(kept.name)
        return f"; your edit is kept as {kept.label}"

    def diff(self, against: Any = None) -> None:
        """Show what the text in the editor changes over a revision: the one it was edited from unless given.

        Raises:
            UnknownKernelError: no such revision.
        """
        with self.lock:
            if against is not None and not isinstance(against, str | int):
                raise refusal("against", against, "a label, or the number of a revision")
            after = replace(self._base, **self._fields()) if self.state["dirty"] else self._base
            if against is not None:
                text = str(against)
                other = registry.revision_of(text if "/" in text else f"{self._base.name}@{text.lstrip('@')}")
            elif self.state["dirty"]:
                other = self._base
            else:
                other = registry.before(self._base) or self._base
            found = diff(other, after)
            if self.state["dirty"]:
                head, name = f"+++ {after.label} ", "the editor"
                changed = found.text.replace(head, f"+++ {name} ")
                found = replace(found, after=name, text=changed)
            self.tell(diff=found._repr_html_())

    def apply(self, number: Any) -> dict[str, Any] | None:
        """Make the change that the hint of a mark proposes.

        Raises:
            InputError: there is no such mark, it proposes nothing, or its line has changed meanwhile.
        """
        with self.lock:
            marks = self.state["marks"]
            if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(marks):
                raise InputError(f"there is no mark {shown(number)} any more: build again")
            mark = marks[number]
            text = fixed(self.state["texts"].get(mark["kind"], ""), mark["fix"]) if mark["fix"] else None
            if text is None:
                raise InputError(
                    f"line {mark['line']} has changed since it was built, or needs more than a word: edit it"
                )
            self.edit({mark["kind"]: text})
            place = {"kind": mark["kind"], "line": mark["line"]}
            left = [one for one in marks if not place.items() <= one.items()]
            self.tell(marks=left, generation=self.state["generation"] + 1)
            return {"tell": "focus", **place}

    def copy(self, kind: Any) -> dict[str, Any]:
        """Write the cell that makes what stands in the editor, in this notebook as in another.

        Raises:
            InputError: the kernel has no such text.
        """
        with self.lock:
            kinds = [] if self._base.python is not None else list(self.state["texts"])
            one_of("kind", kind, kinds, where=f"kernel {self._base.label!r}")
            kernel, first = replace(self._base, **self._fields()), registry.history(self._base.name)[0]
            usual = first.params if registry.is_shipped(first) else {}
            params = [f"{name}={value}" for name, value in kernel.params.items() if usual.get(name) != value]
            line = [kernel.name, *["--params"] * bool(params), *params, self.state["options"]["how"]]
            return {"tell": "copy", "text": cell_of(kernel, kind, " ".join(filter(None, line)))}

    def new(self, name: Any) -> dict[str, Any] | None:
        """Show a new kernel of the op, with a text that fits its schema and is to be written; or hand out the cell of a new op.

        Args:
            name: of the kernel, or name and schema of the op: `"scale(Tensor x) -> Tensor y"`.

        Raises:
            InputError: no name, or one that is taken.
            DefinitionError: a name that no kernel can have, or a schema that does not read.
        """
        variant = string("name", name, want="a name for the new kernel").strip()
        if "(" in variant:
            cell, op = cell_of_op(variant), variant.partition("(")[0].strip()
            self.log(f"the cell of op {op} is copied: paste it into the notebook, and write its reference")
            return {"tell": "copy", "text": cell}
        name = variant if "/" in variant else f"{self.op.name}/{variant}"
        if name in registry:
            raise InputError(f"there is a kernel {name} already: choose it from the list")
        if not name.startswith(f"{self.op.name}/"):
            raise InputError(f"this panel makes kernels of op {self.op.name!r}, such as {self.op.name}/mine")
        with self.lock:
            kernel = replace(skeleton(self.op, name), doc="Made in the panel.")
            kept = self._keep()
            registry.register(kernel)
            self._show(kernel, None)
            self.log(f"{name} is new: write its forward, and its backward where it has one{kept}")
        return None

    # Beside the verbs

    def list_assembly(self) -> None:
        """List the machine code of the revision in the editor, if the pane for it is open and the revision has a library."""
        with self.lock:
            state = registry.state(self._base.label).name
            if self.state["options"]["assembly"] and state in ("built", "right", "wrong", "crashed"):
                self._do_beside("assembly", self._base)
            else:
                self.tell(assembly="")
                self.remark(self._base, [])

    def _read_draft(self) -> None:
        """Have the compiler's front end read what is being typed, while nothing is built; nvcc has none that is quick enough."""
        if self.running or DEVICES[self.device].needs_gpu:
            return
        if self.state["dirty"]:
            with contextlib.suppress(DefinitionError):  # no text at all
                self._do_beside("read", replace(self._base, **self._fields()))
        elif any("quiet" in mark for mark in self.state["marks"]):
            self.tell(marks=self._marks())

    def _do_beside(self, verb: str, kernel: Kernel) -> None:
        """Do something in a thread of its own, whatever the verb that runs is doing."""
        work = self._work(self, verb, kernel)

        def run() -> None:
            try:
                work()
            except Exception as error:  # nobody else would see it
                self.fail(error)

        self._beside[verb] = threading.Thread(target=run, name=f"lltm_inline {verb}", daemon=True)
        self._beside[verb].start()

    # Verbs

    def draft(self) -> Kernel:
        """Make a revision of what stands in the panel; the same text is the same revision.

        Raises:
            DefinitionError: no kernel can be made of it.
        """
        with self.lock:
            return self._base if not self.state["dirty"] else self._base.replace(**self._fields())

    def _fields(self) -> dict[str, Any]:
        flags = self.how.get("flags", self._base.flags)
        return {**self.state["texts"], "params": self.state["params"], "flags": flags}

    def start(self, verb: str) -> None:
        """Begin `build`, `check` or `benchmark` in the background thread; `stop` ends it.

        Raises:
            DefinitionError: no kernel can be made of the text.
            InputError: the field of sizes and flags makes no sense.
        """
        with self.lock:
            if self.running:
                self.log(f"{self.state['busy']['verb']} is still running: press Stop first")
                return
            if (unread := self._read_how(self.state["options"]["how"])) is not None:
                raise unread
            known = {one.label for one in registry.history(self._base.name)}
            kernel = self.draft()
            if kernel is not self._base:  # what was edited becomes the current revision
                if kernel.label in known:
                    self.log(f"this text is {kernel.label}")
                registry.register(kernel)
                journal.drop_draft(kernel.name)
                self._base = kernel
                self.tell(diff="", report=self._known(kernel)["report"])
                self.tell(dirty=self._differs())
            work = self._work(self, verb, kernel)
            self._stop = threading.Event()
            self.running = True
            self.tell(
                busy={**IDLE, "verb": verb, "started": time.time()}, journal={**self.state["journal"], "note": ""}
            )
            self.phase(verb, f"{verb} of {kernel.label}")
            if verb == "benchmark":
                self.tell(plot="", verdict="", timings="")
            self._current()
            # In the context of the message that asked for it: ipykernel sends answers, and so the next messages of the
            # browser (Stop!), the way that this one came, past a cell that runs in the main thread.
            context, run = contextvars.copy_context(), (self._run, work, self._stop)
            self._thread = threading.Thread(target=context.run, args=run, name=f"lltm_inline {verb}", daemon=True)
            self._thread.start()

    def _run(self, work: Callable[[], None], stop: threading.Event) -> None:
        try:
            with stoppable(stop), captured(self.log):
                work()
        except KeyboardInterrupt:
            self.log(f"{self.part} was stopped after {time.monotonic() - self.began:.1f} s")
        except BaseException as error:  # nobody else would see it: the thread is the panel's own
            self.fail(error)
            self.tell(report=card_of(error))
        finally:
            with self.lock:
                self.running = False
                self.revisions()
                self.tell(history=history_of(self._base))
                self._saved()
                self.tell(busy=dict(IDLE))  # last: by then all results have been told
                self._read_draft()  # what was typed meanwhile

    def stop(self) -> None:
        """Stop what is running: compilers are killed, the worker is ended; a benchmark keeps its rows."""
        with self.lock:
            if self.running:
                self._stop.set()
                self.tell(busy={**self.state["busy"], "verb": "stopping"})

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing runs; False when it still does."""
        if self._thread is not None:
            self._thread.join(seconds)
        for thread in list(self._beside.values()):  # a verb may have begun some
            thread.join(seconds)
        return not self.running

    # What is shown of the kernel

    def outcome(self, kernel: Kernel, **values: Any) -> None:
        """Show what a verb has found, as `report` and `marks`; both come back when this revision is chosen again.

        Lines are marked only while its text is in the editor: another may have been put there meanwhile.
        """
        with self.lock:
            self._known(kernel).update(values)
            if "marks" in values:
                values["marks"] = self._marks() if kernel.label == self._base.label else self.state["marks"]
            self.tell(**values)

    def remark(self, kernel: Kernel, remarks: list[dict[str, Any]]) -> None:
        """Mark what the compiler says of the lines of a revision, beside what is wrong with them."""
        with self.lock:
            known = self._known(kernel)
            before, known["remarks"] = known["remarks"], remarks
            if kernel.label == self._base.label:
                self.tell(marks=[*(mark for mark in self.state["marks"] if mark not in before), *remarks])

    def _known(self, kernel: Kernel) -> dict[str, Any]:
        return self._outcomes.setdefault(kernel.label, {"report": "", "marks": [], "remarks": []})

    def _marks(self) -> list[dict[str, Any]]:
        known = self._known(self._base)
        return [*known["marks"], *known["remarks"]]

    def read(self, kernel: Kernel, marks: list[dict[str, Any]]) -> None:
        """Mark what is wrong with a text that is being typed, if it still stands in the editor.

        These marks are quiet: a message below its line would move what the person is looking at. One that Build has shown stays.
        """
        with self.lock:
            if self.running or kernel.sources != self.state["texts"]:
                return
            loud = {(mark["text"], mark["message"]) for mark in self.state["marks"] if not mark.get("quiet")}
            typed = [{**mark, "quiet": (mark["text"], mark["message"]) not in loud} for mark in marks]
            self.tell(marks=[*typed, *self._known(self._base)["remarks"]])

    def _show(self, kernel: Kernel, device: str | None, *, draft: bool = True) -> None:
        """Put a kernel into the editor, with its draft if there is one that is not a revision yet."""
        found = left_of(kernel) if draft else None
        if found is not None and found.base.partition("@")[0] == kernel.name:
            with contextlib.suppress(UnknownKernelError):  # its revision is gone: it stands on the current one then
                kernel = registry.revision_of(found.base)
        self._choose_device(kernel, device)
        self._base = kernel
        texts, params = texts_of(kernel), dict(kernel.params)
        if found is not None:
            texts |= found.texts
            params |= {name: number for name, number in found.params.items() if name in params}
        kernels = [one for one in registry.values() if one.op == self.op.name]
        self.tell(
            texts=texts,
            params=params,
            controls=controls_of(kernel, params),
            generation=self.state["generation"] + 1,
            report=self._known(kernel)["report"],
            marks=self._marks(),
            diff="",
            details="",
            variants=[{"name": one.name, "label": one.variant, "editable": one.python is None} for one in kernels],
            words=words_of(kernel),
        )
        self.tell(dirty=self._differs())
        self._current()
        self.tell(history=history_of(kernel))
        self.list_assembly()
        if self.state["dirty"]:
            self.log(f"this text was left here and is not built yet; revert puts back {kernel.label}")

    def _choose_device(self, kernel: Kernel, device: str | None) -> None:
        devices = devices_of(kernel)
        if device is not None and device != self.device and device not in devices:
            raise InputError(
                f"kernel {kernel.label!r} has no text for device {shown(device)}: it has {', '.join(devices)}"
            )
        self.device = device if device is not None and device in devices else usual_device(kernel)

    def _differs(self) -> bool:
        """Tell whether the editor holds another text, or other params, than the kernel."""
        base = self._base
        given = {**base.sources, "params": dict(base.params), "flags": base.flags}
        return base.python is None and given != self._fields()

    def _current(self) -> None:
        base = self._base
        kinds = list(self.state["texts"])
        current = {"name": base.name, "label": base.label, "device": self.device, "kinds": kinds}
        counts = bool(DEVICES[self.device].count_flags)
        self.tell(current={**current, "revision": base.revision, "counts": counts}, devices=list(devices_of(base)))
        self.revisions()

    def revisions(self) -> None:
        """Tell the revisions and what is known of each."""
        self.tell(revisions=revisions_of(self._base))

    def _saved(self) -> None:
        note = journal.trouble() or self.state["journal"]["note"]
        self.tell(journal={**self.state["journal"], "saved": journal.last_saved() or 0, "note": note})
