"""Tries a solution at its cases, and whether it is right without computing: each cheat has a way of its own to show."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Container
from contextlib import suppress
from functools import partial
from typing import Any

import psutil
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from ..base.arguments import first_line, plural, raised
from ..checking.runner import SEEN
from ..cpp.masks import mask
from ..errors import InputError
from ..measure.machine import fastest
from ..run.cases.drawing import is_label
from ..run.cases.expectation import furthest
from ..run.cases.tolerance import rarely_by_one, slack
from ..run.compare import Tolerance, compare, hints
from ..run.function import copied, same, tensors
from ..workers import steps
from .running import Runner
from .subjects import Case, Size, Subject, words_of
from .verdict import CHEATS

_REMEMBERED, _RECOGNISED, _CALLED, _ALIASED, _LEFT, _CLOCKED = CHEATS
#: A thread that is left behind is given so long to show.
_LATER_SECONDS = 0.1
#: What takes longer to compute is tried no further, compilers not counted.
_MOST_SECONDS = 90.0
#: What the checks of `cuda-cpu` say of a call that they end.
_SEEN = re.compile(rf"({SEEN}): |Nobody has asked cudaGetLastError")
#: What torch says where there is no GPU, and what CUDA says of a launch that cannot be: no text has these words of its own.
_NO_GPU = ("not compiled with CUDA", "NVIDIA driver", "without CUDA", "Cannot initialize CUDA", "dummy base class")
_FAILED = ("invalid configuration argument", "invalid argument", "out of memory")
_STREAM = re.compile(r"\b(cudaStreamCreate\w*|getStreamFromPool|torch\.cuda\.Stream)\s*\(")
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
    ours, wanted, plains = map(tree_leaves, (got, want, plain))
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
        limit, sizes = slack(narrow.dtype), wide.abs()
        largest = sizes[sizes.isfinite()].max().item() if real and sizes.isfinite().any() else 1.0
        own = 4 * furthest(narrow.to(wide.dtype), wide) / max(1.0, largest) if real else 0.0

        def excused(found: Tensor, narrow: Tensor = narrow, real: bool = real) -> Tensor:
            if real:  # an infinity or NaN of the reference's own way
                return ~narrow.isfinite() & ~found.isfinite()
            return rarely_by_one(found, narrow)

        found = compare(name, one, wide, narrow.dtype, Tolerance(limit, max(limit, own)), excused=excused)
        if found is not None:
            return ". ".join([found.text, *hints(found, {})])
    return ""


class Trial:
    """Tries a solution.

    Attributes:
        first: the case that is tried first, as far as the solution takes it.
    """

    def __init__(self, runner: Runner, subject: Subject) -> None:
        self.runner, self.subject = runner, subject
        self.first: Case | None = None
        self.refused, self.until = ("", "", 0), time.process_time() + _MOST_SECONDS

    def run(self) -> None:
        """Try all cases, then all cheats at the first one; stop at the first that is wrong."""
        own = self.subject.own()
        if not all(map(self._tried, own)):
            return
        if self.first is None:  # it may take its own sizes, and no smaller ones
            for size in self.subject.fuller(own[0]):
                if not self._tried(size):
                    return
                if self.first is not None:
                    break
        if self.first is None:
            said, at, line = self.refused
            cure = "let it take other sizes, too"
            self.runner.find("refused", f"it refuses these sizes: {said}", at, line, cure=cure)
        elif all(map(self._tried, self.subject.others(self.first.size))) and self.has_time("cheats"):
            Probes(self, self.first).run()

    def has_time(self, what: str) -> bool:
        """Tell whether there is time for more, and what is left out where there is none."""
        if time.process_time() < self.until:
            return True
        self.runner.say("not_tried", f"{what}: {_MOST_SECONDS:.0f} s of computing are over")
        return False

    def _tried(self, size: Size) -> bool:
        """Try a size; return whether nothing is wrong there."""
        if self.first is not None and not self.has_time(words_of(size)):
            return True
        case = self.subject.case(size, True)
        inputs = case.draw(1)
        given, changed = copied(inputs), copied(inputs)
        try:
            got = case.run(given)
        except Exception as error:
            return self._raised(error, case)
        if wrong := self.wrong(case, inputs, got):
            self.runner.find("wrong", wrong, case.at)
            return False
        case.want(changed)
        for place, (mine, before, theirs) in enumerate(zip(*map(tensors, (given, inputs, changed)), strict=True)):
            is_output = case.buffers and _memory(mine) & _memory(got)
            if not same(mine, before) and same(theirs, before) and not is_output:
                said = f"it changes input {place}, and the reference does not"
                self.runner.find("wrong", said, case.at, cure="write into a tensor of its own")
                return False
        self.runner.say("tried", f"{case.at}: right")
        if self.first is None:
            self.first = case
        return True

    def wrong(self, case: Case, inputs: Any, got: Any) -> str:
        """Say what is wrong with a result; nothing where it is right."""
        plain = case.want(copied(inputs))
        if case.check:
            said = case.verify(copied(inputs), got)
            return f"{differing(got, plain, plain) or said} (check_implementation: {said})" if said else ""
        try:
            precise = case.want(copied(inputs), True)
        except Exception:  # it makes tensors of one precision itself
            precise = plain
        return differing(got, precise if len(tree_leaves(precise)) == len(tree_leaves(plain)) else plain, plain)

    def _raised(self, error: Exception, case: Case) -> bool:
        said = first_line(str(error))
        if self.runner.builder.failure or steps.is_out_of_memory(error) or isinstance(error, InputError):
            raise error
        seen, line = _SEEN.search(said), self.runner.line_of(error)
        if any(word in said for word in _NO_GPU):
            self.runner.find("refused", f"it needs a GPU for what it calls: {said}", case.at, line)
            return False
        # The file itself has the words, as those of a TORCH_CHECK or assert.
        words = ((one[1] or one[2]).strip() for one in _WORD.finditer(self.runner.text))
        own = isinstance(error, ValueError | NotImplementedError | AssertionError)
        own = own or any(len(word) > 5 and word in str(error) for word in words)
        if own and not seen and not any(word in said for word in _FAILED):
            self.refused = said, case.at, line
            self.runner.say("not_tried", f"{case.at}: it refuses them ({said})")
            return True
        line = (self.runner.line_in(said) if seen else 0) or line
        self.runner.find("wrong", said if seen else f"it raises {raised(error)}", case.at, line)
        return False

    def speed(self) -> str:
        """Time both in turns at the first case, where a time means something."""
        case, builder = self.first, self.runner.builder
        if case is None or (builder.device == "cuda-cpu" and builder.used != {"cpu"}):
            return ""
        inputs = case.draw(4)
        calls = [partial(call, inputs) for call in (case.want, case.run)]
        theirs, own = map(min, zip(*([fastest(call, builder.device) for call in calls] for _ in range(3)), strict=True))
        return f"{theirs / own:.2f} times as fast as the reference at {case.at} ({own * 1e6:.0f} us)"


class Probes:
    """Calls at one size that show a cheat. Each method returns what it sees: whether, or more to say of it; `TABLE` has the words."""

    def __init__(self, trial: Trial, case: Case) -> None:
        self.trial, self.runner, self.case = trial, trial.runner, case
        self.builder, self.line, self.wrong = self.runner.builder, 0, ""
        self.one, self.two, self.held = case.draw(2), case.draw(3), case.draw(2)
        self.threads, self.before, self.runner.calls_reference = _threads(), self.builder.calls, 0
        self.first = case.run(self.held)
        self.seen = copied(self.first)
        time.sleep(_LATER_SECONDS)
        self.late = not same(self.first, self.seen)
        self.seen = copied(self.first)
        self.second = case.run(copied(self.two))
        self.wrong = self.settled(self.two, self.second)
        self.kept = same(self.first, self.seen)

    def run(self) -> None:
        """Look for each cheat that was not found yet."""
        for cheat, probe, said, cure in TABLE:
            if not self.trial.has_time("more cheats"):
                break
            if cheat not in (one.cheat for one in self.runner.findings):
                self.line = 0
                if seen := probe(self):
                    text = said + f": {seen}" * isinstance(seen, str)
                    self.runner.find("cheats", text, self.case.at, self.line, cheat=cheat, cure=cure)
        found = any(one.cheat for one in self.runner.findings)
        self.runner.say("tried", f"cheats: {'found' if found else 'none found'}")

    def settled(self, inputs: Any, got: Any) -> str:
        """Say what is wrong with a result that stays wrong; one that becomes right was given out too early."""
        wrong = self.trial.wrong(self.case, inputs, got)
        if wrong:
            time.sleep(_LATER_SECONDS)
            if not self.trial.wrong(self.case, inputs, got):
                self.late, wrong = True, ""
        return wrong

    def calls_reference(self) -> bool:
        self.line = self.runner.row("ref_kernel", "super().forward", "Model.", "Model(")
        return not self.wrong and self.runner.calls_reference > 0

    def calls_no_kernel(self) -> bool | str:
        none, said = not self.wrong and self.builder.calls == self.before, self.builder.raised
        return none and (f"its kernel raises {said}, and Python goes on without it" if said else True)

    def knows_addresses(self) -> bool:
        if self.wrong or not self.kept:
            return False
        for mine, new in zip(tensors(self.held), tensors(self.two), strict=True):
            mine.copy_(new)
        self.wrong = self.settled(self.two, self.case.run(self.held))
        return bool(self.wrong)

    def knows_values(self) -> bool | str:
        """Other values than `get_inputs` draws, of other signs: what is right for its own alone, computes less."""
        for said, change in _CHANGES.items() if self.kept and not self.wrong else ():
            other = tree_map_only(Tensor, partial(_changed, change=change), copied(self.two))
            try:
                plain = tensors(self.case.want(copied(other)))
            except Exception:  # of a probability, say
                continue
            if not all(one.isfinite().all() for one in plain):
                continue
            try:
                wrong = self.settled(other, self.case.run(copied(other)))
            except Exception as error:
                wrong = f"it raises {raised(error)}"
            if wrong:
                return f"{said} of these: {wrong}"
        return False

    def is_an_input(self) -> bool:
        mine, theirs = copied(self.one), copied(self.one)
        shared = _memory(self.case.run(mine)) & _memory(mine)
        return bool(shared) and not self.case.buffers and not _memory(self.case.want(theirs)) & _memory(theirs)

    def ignores_its_kernel(self) -> bool:
        self.builder.spoil = True
        try:
            got = self.case.run(copied(self.two))
        except Exception:  # it looks at what it gets
            return False
        finally:
            self.builder.spoil = False
        return self.builder.spoilt and not differing(got, self.second, self.second)

    def touches(self) -> bool | str:
        touched = self.runner.touched()
        name = touched[0].rpartition(".")[2] if touched else ""
        self.line = self.runner.row(f"{name} =") or self.runner.row(name)
        return ", ".join(touched)

    def written(self, pattern: re.Pattern[str]) -> str:
        """Return what of a pattern stands in the texts, their comments and strings left out, and note its line."""
        own = [self.runner.text] if self.runner.name.endswith(".py") else []
        codes = (*map(mask, self.builder.texts.values()), *own)
        found = next((found[pattern.groups] for found in map(pattern.search, codes) if found), "")
        self.line = self.runner.row(found)
        return found


_CHANGES: dict[str, Callable[[Any], Any]] = {"x * 1.5 - 0.25": lambda x: x * 1.5 - 0.25, "-x": lambda x: -x}
_LATE = "its output changes after it has returned"
_ANEW, _OWN, _WAIT = "compute each call anew", "return a tensor that is made in the call", "wait for all that it starts"
#: All ways to look for cheats, in the order in which they are tried: the cheat, what shows it, what is said of it, what mends it.
TABLE: tuple[tuple[str, Callable[[Probes], bool | str], str, str], ...] = (
    (_LEFT, lambda p: p.late, _LATE, _WAIT),
    (_REMEMBERED, lambda p: bool(p.wrong) and same(p.second, p.seen),
     "other inputs of the same sizes get the result of the first ones", _ANEW),
    (_RECOGNISED, lambda p: p.wrong * (not same(p.second, p.seen)),
     "right for the inputs that it was tried with, and not for others", _ANEW),
    (_CALLED, Probes.calls_reference, "it calls the reference itself", "compute it"),
    (_CALLED, Probes.calls_no_kernel,
     "no function of its extension comes back in a call, so torch computes all of it", "call the kernel"),
    (_ALIASED, lambda p: not p.kept and not p.late, "the result of one call changes when it is called again", _OWN),
    (_REMEMBERED, Probes.knows_addresses,
     "the same tensors with other values in them get the result of the old ones", _ANEW),
    (_RECOGNISED, Probes.knows_values,
     "right for the values that are drawn, and not for others", "compute it for all values"),
    (_LEFT, lambda p: p.late, _LATE, _WAIT),  # it may have shown in one of these
    (_ALIASED, Probes.is_an_input, "its output is the memory of an input, and that of the reference is not", _OWN),
    (_CALLED, Probes.ignores_its_kernel,
     "what its kernels return is not used: it is right with NaN in their place", "use it"),
    (_LEFT, lambda p: _lazy(p.first), "its output is no plain tensor, and may compute when somebody looks at it", _WAIT),
    (_LEFT, lambda p: _busy(p.threads), "a thread of it still computes when it has returned", _WAIT),
    (_LEFT, lambda p: any(one is not threading.main_thread() and not one.daemon for one in threading.enumerate()),
     "a thread of Python's is left running", _WAIT),
    (_CLOCKED, Probes.touches, "it puts something else in the place of what a judge is read by", "leave that alone"),
    (_CLOCKED, lambda p: p.written(_CLOCK), "its C++ defines what times are taken with", "leave that alone"),
    (_LEFT, lambda p: not p.written(_WAITS) and p.written(_STREAM),
     "it makes a stream, and nothing waits for it", "synchronise it, or have the current stream wait for it"),
)  # fmt: skip


def _lazy(results: Any) -> bool | str:
    """Name the type of a result that is not torch's own: what is asked of it may be done then, when no time is taken."""
    own = (one for one in map(type, tensors(results)) if one not in (Tensor, torch.nn.Parameter))
    return next((one.__name__ for one in own), False)


def _changed(one: Tensor, change: Callable[[Any], Any]) -> Any:
    return change(one) if one.is_floating_point() and not is_label(one) else one


def _memory(value: Any) -> set[int]:
    """Return where the memory of tensors begins."""
    return {one.untyped_storage().data_ptr() for one in tensors(value) if one.numel()}


def _threads() -> dict[int, float]:
    """Return how many seconds each thread of this process has computed; nothing where the system does not tell."""
    with suppress(psutil.Error):
        return {one.id: one.user_time + one.system_time for one in psutil.Process().threads()}
    return {}


def _busy(known: Container[int]) -> bool:
    """Tell whether threads other than these compute now, while nobody asks them to: those of a pool sleep."""

    def ran() -> float:
        return sum(seconds for thread, seconds in _threads().items() if thread not in known)

    before = ran()
    time.sleep(_LATER_SECONDS)
    return ran() - before > _LATER_SECONDS / 6
