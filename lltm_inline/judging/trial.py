"""Tries a solution at its cases, and whether it is right without computing: each cheat has a way of its own to show."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import Any

import torch
from torch import Tensor

from ..base.arguments import plural
from ..checking.runner import SEEN
from ..cpp.masks import mask
from ..run.cases.tolerance import slack
from ..run.compare import Tolerance, compare, hints
from ..workers import steps
from .building import place_in
from .forms import Form
from .running import Runner
from .subjects import Case, Subject, each_tensor, flat, tensors
from .verdict import CHEATS, Finding

_REMEMBERED, _RECOGNISED, _CALLED, _ALIASED, _LEFT, _CLOCKED = CHEATS
_ANEW = "compute each call anew"
#: A thread that is left behind is given so long to show.
_LATER_SECONDS = 0.1
#: What the checks of `cuda-cpu` say of a call that they end; and the line that they name.
_SEEN = re.compile(rf"({SEEN}): |Nobody has asked cudaGetLastError")
_LINE = re.compile(r"\bline (\d+)|:(\d+)\b")
_OF_SOURCE = re.compile(r"(?:line )?judged/\w+:\d+")
_STREAM = re.compile(r"\b(?:cudaStreamCreate\w*|getStreamFromPool)\s*\(|\btorch\.cuda\.Stream\s*\(")
_WAITS = re.compile(
    r"\b(?:cuda(?:Stream|Device|Event)Synchronize|cudaStreamWaitEvent|wait_stream|wait_event)\b|\.\s*(?:synchronize|block|wait)\s*\("
)
_CLOCK = re.compile(
    r"\b(?:int|cudaError_t)\s+(clock_gettime|gettimeofday|cudaEventElapsedTime|cudaEventRecord|cudaDeviceSynchronize)\s*\([^;{]*\{"
)
_WORD = re.compile(r"\"((?:[^\"\\\n]|\\.){6,})\"|'((?:[^'\\\n]|\\.){6,})'")


def differing(got: Any, want: Any, plain: Any) -> str:
    """Say how outputs differ from those of the reference; nothing where they are right.

    Args:
        got: of the solution.
        want: of the reference in double precision; `plain`: as it is. What is nearer to the first than the second is right.
    """
    ours, wanted, plains = flat(got), flat(want), flat(plain)
    if len(ours) != len(wanted):
        return f"it returns {plural(len(ours), 'value')}, the reference {plural(len(wanted), 'value')}"
    for place, (one, wide, narrow) in enumerate(zip(ours, wanted, plains, strict=True)):
        name = "the output" if len(ours) == 1 else f"output {place}"
        if not isinstance(narrow, Tensor):
            if one != narrow:
                return f"{name} is {one}, want {narrow}"
            continue
        real = narrow.is_floating_point() or narrow.is_complex()
        wide = wide.to(torch.complex128 if narrow.is_complex() else torch.float64) if real else narrow
        limit = slack(narrow.dtype)
        off = (narrow.to(wide.dtype) - wide).abs() if real else torch.zeros(())
        finite = off[off.isfinite()]
        largest = wide.abs()[wide.isfinite()].max().item() if real and wide.isfinite().any() else 0.0
        own = 4 * finite.max().item() / max(1.0, largest) if finite.numel() else 0.0

        def excused(found: Tensor, narrow: Tensor = narrow, real: bool = real) -> Tensor:
            if real:  # an infinity or NaN of the reference's own way
                return ~narrow.isfinite() & ~found.isfinite()
            by_one = (found.to(torch.int64) - narrow.to(torch.int64)).abs() == 1
            rare = narrow.dtype == torch.uint8 and int(by_one.sum()) * 1000 <= narrow.numel()
            return by_one if rare else torch.zeros_like(narrow, dtype=torch.bool)

        found = compare(name, one, wide, narrow.dtype, Tolerance(limit, max(limit, own)), excused=excused)
        if found is not None:
            return ". ".join([found.text, *hints(found, {})])
    return ""


class Trial:
    """Tries a solution.

    Attributes:
        findings, tried, not_tried, notes: as those of `Verdict`.
        first: the case that is tried first.
    """

    def __init__(self, runner: Runner, subject: Subject, form: Form, text: str) -> None:
        self.runner, self.subject, self.form, self.text = runner, subject, form, text
        self.findings: list[Finding] = []
        self.tried: list[str] = []
        self.notes: list[str] = []
        self.first: Case | None = None

    @property
    def not_tried(self) -> list[str]:
        """What the reference, or the solution itself, does not take."""
        return self.subject.not_tried

    def run(self) -> None:
        """Try all cases, then all cheats at the first one; stop at the first that is wrong."""
        for size in self.subject.all():
            case = self.subject.case(size, solution=True)
            self.notes += [note for note in case.notes if note not in self.notes]
            if not self._case(case, is_first=self.first is None):
                return
            self.first = self.first or case
        assert self.first is not None
        self._cheats(self.first)

    def _call(self, case: Case, inputs: Any) -> Any:
        assert case.run is not None
        self.subject.in_solution = True
        try:
            return case.run(inputs)
        finally:
            self.subject.in_solution = False

    def _case(self, case: Case, is_first: bool) -> bool:
        inputs = case.draw(1)
        given = copied(inputs)
        try:
            got = self._call(case, given)
        except Exception as error:
            return self._raised(error, case, is_first)
        if wrong := self._wrong(case, inputs, got):
            self._add("wrong", wrong, case.at)
            return False
        changed = copied(inputs)
        case.want(changed, False)
        for place, (one, before, theirs) in enumerate(zip(*map(tensors, (given, inputs, changed)), strict=True)):
            if not torch.equal(one.nan_to_num(), before.nan_to_num()) and torch.equal(
                theirs.nan_to_num(), before.nan_to_num()
            ):
                self._add(
                    "wrong",
                    f"it changes input {place}, and the reference does not",
                    case.at,
                    cure="write into a tensor of its own",
                )
                return False
        self.tried.append(f"{case.at}: right")
        return True

    def _wrong(self, case: Case, inputs: Any, got: Any) -> str:
        plain = case.want(copied(inputs), False)
        if case.verify:
            said = case.verify(copied(inputs), got)
            return f"{differing(got, plain, plain) or said} (check_implementation: {said})" if said else ""
        try:
            precise = case.want(copied(inputs), True)
        except Exception:  # it makes tensors of one precision itself
            precise = plain
        same = len(flat(precise)) == len(flat(plain))
        return differing(got, precise if same else plain, plain)

    def _raised(self, error: Exception, case: Case, is_first: bool) -> bool:
        said = str(error).strip().partition("\n")[0]
        if self.runner.builder.failure is not None or steps.is_out_of_memory(error):
            raise error
        own = not _SEEN.search(said) and (
            isinstance(error, ValueError | NotImplementedError | AssertionError) or self._says(str(error))
        )
        if own and not is_first:
            self.subject.not_tried.append(f"{case.at}: it refuses them ({said})")
            return True
        if own:
            self._add(
                "refused",
                f"it refuses these sizes: {said}",
                case.at,
                line=self.runner.line_of(error),
                cure="let it take other sizes, too",
            )
            return False
        line = line_in(said, self.text, self.runner) if _SEEN.search(said) else 0
        what = said if _SEEN.search(said) else f"it raises {type(error).__name__}: {said}"
        self._add("wrong", what, case.at, line=line or self.runner.line_of(error))
        return False

    def _says(self, said: str) -> bool:
        """Tell whether the file itself has the words of an error, as those of a TORCH_CHECK or assert."""
        words = [one[1] or one[2] for one in _WORD.finditer(self.text)]
        return any(one.strip() in said for one in words if len(one.strip()) > 5)

    def _add(
        self, kind: str, text: str, at: str = "", *, line: int = 0, cause: str = "", cure: str = "", cheat: str = ""
    ) -> None:
        text = _OF_SOURCE.sub(lambda found: f"line {line_in(found[0], self.text, self.runner)}", text)
        self.findings.append(Finding(kind, text, os.path.basename(self.form.solution), line, cause, cure, cheat, at))

    def _cheat(self, cheat: str, text: str, at: str, cure: str, line: int = 0) -> None:
        self._add("cheats", text, at, cheat=cheat, cure=cure, line=line)

    def _settled(self, case: Case, inputs: Any, got: Any) -> str:
        """Say what is wrong with a result that stays wrong; one that becomes right was given out too early."""
        wrong = self._wrong(case, inputs, got)
        if wrong:
            time.sleep(_LATER_SECONDS)
            if not self._wrong(case, inputs, got):
                self._late(case)
                return ""
        return wrong

    def _late(self, case: Case) -> None:
        if not any(one.cheat == _LEFT for one in self.findings):
            self._cheat(_LEFT, "its output changes after it has returned", case.at, "wait for all that it starts")

    def _cheats(self, case: Case) -> None:
        """Look for each cheat; all calls are at one size."""
        subject, builder = self.subject, self.runner.builder
        one, two = case.draw(2), case.draw(3)
        held = copied(one)
        subject.calls_reference, before = 0, builder.calls
        threads = _threads()
        first = self._call(case, held)
        seen = copied(first)
        time.sleep(_LATER_SECONDS)
        if not _same(first, seen):
            self._late(case)
            seen = copied(first)
        second = self._call(case, copied(two))
        wrong = self._settled(case, two, second)
        if wrong and _same(second, seen):
            self._cheat(_REMEMBERED, "other inputs of the same sizes get the result of the first ones", case.at, _ANEW)
        elif wrong:
            self._cheat(
                _RECOGNISED, f"right for the inputs that it was tried with, and not for others: {wrong}", case.at, _ANEW
            )
        elif subject.calls_reference:
            calls = ("ref_kernel", "super().forward", "Model.", "Model(")
            line = next((n for n, row in self._rows() if any(word in row for word in calls)), 0)
            times = plural(subject.calls_reference, "time")
            self._cheat(_CALLED, f"it calls the reference itself, {times} in two calls", case.at, "compute it", line)
        elif builder.calls == before:
            why = f": its kernel raises {builder.raised}, and Python goes on without it" if builder.raised else ""
            said = f"no function of its extension comes back in a call, so torch computes all of it{why}"
            self._cheat(_CALLED, said, case.at, "call the kernel")
        if not _same(first, seen):
            if not any(f.cheat == _LEFT for f in self.findings):
                said = "the result of one call changes when it is called again"
                self._cheat(_ALIASED, said, case.at, "return a tensor that is made in the call")
        elif not wrong:
            for mine, new in zip(tensors(held), tensors(two), strict=True):  # the same tensors, with other values
                mine.copy_(new)
            if self._settled(case, two, self._call(case, held)):
                said = "the same tensors with other values in them get the result of the old ones"
                self._cheat(_REMEMBERED, said, case.at, _ANEW)
            else:
                self._shifted(case, two)
        theirs_in = copied(one)
        theirs = case.want(theirs_in, False)
        if _memory(first) & _memory(held) and not _memory(theirs_in) & _memory(theirs):
            said = "its output is the memory of an input, and that of the reference is not"
            self._cheat(_ALIASED, said, case.at, "return a tensor of its own")
        self._spoiled(case, two)
        left = _threads() - threads
        more = [t for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]
        if left and _busy(left):
            self._cheat(
                _LEFT,
                f"{plural(len(left), 'thread')} of it still compute when it has returned",
                case.at,
                "join all threads",
            )
        elif more:
            self._cheat(
                _LEFT,
                f"{plural(len(more), 'thread')} of Python's left running",
                case.at,
                "join all threads",
            )
        self._read(case)
        self.tried.append("cheats: " + ("none found" if not any(f.cheat for f in self.findings) else "found"))

    def _shifted(self, case: Case, inputs: Any) -> None:
        """Other values than `get_inputs` draws, of other signs: what is right for its own alone, computes less."""
        other = each_tensor(copied(inputs), lambda one: one * 1.5 - 0.25 if one.is_floating_point() else one)
        try:
            plain = flat(case.want(copied(other), False))
            if not all(one.isfinite().all() for one in plain if isinstance(one, Tensor)):
                return
        except Exception:  # of a probability, say
            return
        try:
            wrong = self._settled(case, other, self._call(case, copied(other)))
        except Exception as error:
            wrong = f"it raises {type(error).__name__}: {error}"
        if wrong:
            self._cheat(
                _RECOGNISED,
                f"right for the values that are drawn, and not for x * 1.5 - 0.25 of these: {wrong}",
                case.at,
                "compute what the reference does, for all values",
            )

    def _spoiled(self, case: Case, inputs: Any) -> None:
        """With NaN in the place of what its kernels return, it cannot be right."""
        builder = self.runner.builder
        if not builder.calls or any(f.cheat == _CALLED for f in self.findings):
            return
        builder.spoil = True
        try:
            got = self._call(case, copied(inputs))
            if builder.spoilt and not self._wrong(case, inputs, got):
                self._cheat(
                    _CALLED,
                    "what its kernels return is not used: it is right with NaN in their place",
                    case.at,
                    "use it",
                )
        except Exception:  # it looks at what it gets
            return
        finally:
            builder.spoil = False

    def _read(self, case: Case) -> None:
        """What no run on the CPU shows: streams, and the clock."""
        if touched := self.runner.touched():
            what = touched[0].rpartition(".")[2]
            line = next((n for n, row in self._rows() if what in row and "=" in row), 0)
            self._cheat(
                _CLOCKED,
                f"it puts something else in the place of {', '.join(touched)}",
                "",
                "leave them alone",
                line,
            )
        codes = [mask(one.source) for one in self.runner.builder.texts]
        codes += [self.text] if self.form.solution.endswith(".py") else []
        for code in codes:
            if found := _CLOCK.search(code):
                self._cheat(
                    _CLOCKED,
                    f"its C++ defines {found[1]}, which times are taken with",
                    "",
                    "leave it alone",
                    self._row(found[1]),
                )
        made = next((found[0] for code in codes if (found := _STREAM.search(code))), "")
        if made and not any(_WAITS.search(code) for code in codes):
            self._cheat(
                _LEFT,
                f"{made.rstrip('( ')} makes a stream, and nothing waits for it",
                "",
                "synchronise it, or have the current stream wait for it",
                self._row(made),
            )

    def _rows(self) -> list[tuple[int, str]]:
        """List the lines of the file with their numbers, without its comments."""
        return [(n, row) for n, row in enumerate(self.text.split("\n"), 1) if not row.startswith("# ")]

    def _row(self, word: str) -> int:
        return next((n for n, row in self._rows() if word.rstrip("( ") in row), 0)

    def speed(self) -> str:
        """Time both in turns at the first case, where a time means something."""
        case = self.first
        if case is None or (self.runner.builder.device == "cuda-cpu" and self.runner.builder.used != {"cpu"}):
            return ""
        inputs, best = case.draw(4), {"mine": 1e9, "reference": 1e9}
        for _ in range(7):
            for name, call in (
                ("mine", lambda: self._call(case, inputs)),
                ("reference", lambda: case.want(inputs, False)),
            ):
                began = time.perf_counter()
                call()
                if self.runner.builder.device == "cuda":
                    torch.cuda.synchronize()
                best[name] = min(best[name], time.perf_counter() - began)
        return f"{best['reference'] / best['mine']:.2f} times as fast as the reference at {case.at} ({best['mine'] * 1e6:.0f} us)"


def line_in(said: str, text: str, runner: Runner) -> int:
    """Return the line of a user's file that a message names by the line of a source in it; 0 for none."""
    found = _LINE.search(said)
    texts = runner.builder.texts
    number = int(found[1] or found[2]) if found else 0
    return next((line for one in texts if (line := place_in(text, one.name, number, texts))), 0)


def copied(value: Any) -> Any:
    """Copy the tensors of a value."""
    return each_tensor(value, lambda one: one.clone())


def _memory(value: Any) -> set[int]:
    """Return where the memory of tensors begins."""
    return {one.untyped_storage().data_ptr() for one in tensors(value) if one.numel()}


def _same(one: Any, other: Any) -> bool:
    mine, theirs = tensors(one), tensors(other)
    return len(mine) == len(theirs) and all(
        a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(mine, theirs, strict=True)
    )


def _threads() -> set[str]:
    return set(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else set()


def _busy(threads: set[str]) -> bool:
    """Tell whether threads compute now, while nobody asks them to: those of a pool sleep."""

    def ran() -> int:
        total = 0
        for one in threads:
            try:
                with open(f"/proc/self/task/{one}/schedstat") as file:
                    total += int(file.read().split()[0])
            except (OSError, ValueError, IndexError):
                continue
        return total

    before = ran()
    time.sleep(_LATER_SECONDS)
    return ran() - before > _LATER_SECONDS * 2e8
