"""Tries a solution at its cases, and whether it is right without computing: each cheat has a way of its own to show."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..base.arguments import plural
from ..checking.runner import SEEN
from ..cpp.masks import mask
from ..run.cases.expectation import furthest
from ..run.cases.tolerance import slack
from ..run.compare import Tolerance, compare, hints
from ..workers import steps
from .running import Runner
from .subjects import Case, Size, Subject, each_tensor, flat, tensors
from .verdict import CHEATS

_REMEMBERED, _RECOGNISED, _CALLED, _ALIASED, _LEFT, _CLOCKED = CHEATS
#: A thread that is left behind is given so long to show.
_LATER_SECONDS = 0.1
#: What the checks of `cuda-cpu` say of a call that they end.
_SEEN = re.compile(rf"({SEEN}): |Nobody has asked cudaGetLastError")
_LATE = "its output changes after it has returned"
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
        limit, sizes = slack(narrow.dtype), wide.abs()
        largest = sizes[sizes.isfinite()].max().item() if real and sizes.isfinite().any() else 1.0
        own = 4 * furthest(narrow.to(wide.dtype), wide) / max(1.0, largest) if real else 0.0

        def excused(found: Tensor, narrow: Tensor = narrow, real: bool = real) -> Tensor:
            if real:  # an infinity or NaN of the reference's own way
                return ~narrow.isfinite() & ~found.isfinite()
            by_one = (found.to(torch.int64) - narrow.to(torch.int64)).abs() == 1
            return by_one & (narrow.dtype == torch.uint8 and int(by_one.sum()) * 1000 <= narrow.numel())

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
        self.refused = "", "", 0

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
                    own = [size]
                    break
        if self.first is None:
            said, at, line = self.refused
            cure = "let it take other sizes, too"
            return self.runner.find("refused", f"it refuses these sizes: {said}", at, line, cure=cure)
        if all(map(self._tried, self.subject.others(own[0]))):
            Probes(self, self.first).run()
        return None

    def _tried(self, size: Size) -> bool:
        """Try a size; return whether nothing is wrong there."""
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
        case.want(changed, False)
        for place, (mine, before, theirs) in enumerate(zip(*map(tensors, (given, inputs, changed)), strict=True)):
            if not same(mine, before) and same(theirs, before):
                said = f"it changes input {place}, and the reference does not"
                self.runner.find("wrong", said, case.at, cure="write into a tensor of its own")
                return False
        self.runner.say("tried", f"{case.at}: right")
        self.first = self.first or case
        return True

    def wrong(self, case: Case, inputs: Any, got: Any) -> str:
        """Say what is wrong with a result; nothing where it is right."""
        plain = case.want(copied(inputs), False)
        if case.verify:
            said = case.verify(copied(inputs), got)
            return f"{differing(got, plain, plain) or said} (check_implementation: {said})" if said else ""
        try:
            precise = case.want(copied(inputs), True)
        except Exception:  # it makes tensors of one precision itself
            precise = plain
        return differing(got, precise if len(flat(precise)) == len(flat(plain)) else plain, plain)

    def _raised(self, error: Exception, case: Case) -> bool:
        said = str(error).strip().partition("\n")[0]
        if self.runner.builder.failure is not None or steps.is_out_of_memory(error):
            raise error
        seen, line = _SEEN.search(said), self.runner.line_of(error)
        if not seen and (
            isinstance(error, ValueError | NotImplementedError | AssertionError) or self._says(str(error))
        ):
            self.refused = said, case.at, line
            self.runner.say("not_tried", f"{case.at}: it refuses them ({said})")
            return True
        line = (self.runner.line_in(said) if seen else 0) or line
        self.runner.find("wrong", said if seen else f"it raises {type(error).__name__}: {said}", case.at, line)
        return False

    def _says(self, said: str) -> bool:
        """Tell whether the file itself has the words of an error, as those of a TORCH_CHECK or assert."""
        words = ((one[1] or one[2]).strip() for one in _WORD.finditer(self.runner.text))
        return any(len(word) > 5 and word in said for word in words)

    def speed(self) -> str:
        """Time both in turns at the first case, where a time means something."""
        case, builder = self.first, self.runner.builder
        if case is None or (builder.device == "cuda-cpu" and builder.used != {"cpu"}):
            return ""
        inputs, best = case.draw(4), [1e9, 1e9]
        for turn in range(14):
            began = time.perf_counter()
            case.run(inputs) if turn % 2 else case.want(inputs, False)
            if builder.device == "cuda":
                torch.cuda.synchronize()
            best[turn % 2] = min(best[turn % 2], time.perf_counter() - began)
        return f"{best[0] / best[1]:.2f} times as fast as the reference at {case.at} ({best[1] * 1e6:.0f} us)"


class Probes:
    """Calls that show a cheat; all at one size. Each method says what it sees, or nothing; `TABLE` has which cheat that is."""

    def __init__(self, trial: Trial, case: Case) -> None:
        self.trial, self.runner, self.case = trial, trial.runner, case
        self.builder, self.line, self.late = self.runner.builder, 0, False
        self.one, self.two = case.draw(2), case.draw(3)
        self.held, self.before = copied(self.one), self.builder.calls
        self.runner.calls_reference, self.threads = 0, _threads()
        self.first = case.run(self.held)
        self.seen = copied(self.first)

    def run(self) -> None:
        """Look for each cheat that was not found yet."""
        for cheat, probe, cure in TABLE:
            if cheat not in (one.cheat for one in self.runner.findings):
                self.line = 0
                if said := probe(self):
                    self.runner.find("cheats", said, self.case.at, self.line, cheat=cheat, cure=cure)
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

    def is_late(self) -> str:
        time.sleep(_LATER_SECONDS)
        self.late = not same(self.first, self.seen)
        self.seen = copied(self.first)
        self.second = self.case.run(copied(self.two))
        self.wrong = self.settled(self.two, self.second)
        return _LATE * self.late

    def gives_the_old(self) -> str:
        old = self.wrong and same(self.second, self.seen)
        return "other inputs of the same sizes get the result of the first ones" if old else ""

    def knows_the_first(self) -> str:
        old = self.wrong and not same(self.second, self.seen)
        return f"right for the inputs that it was tried with, and not for others: {self.wrong}" if old else ""

    def calls_reference(self) -> str:
        if self.wrong or not self.runner.calls_reference:
            return ""
        self.line = self.runner.row("ref_kernel", "super().forward", "Model.", "Model(")
        return f"it calls the reference itself, {plural(self.runner.calls_reference, 'time')} in two calls"

    def calls_no_kernel(self) -> str:
        if self.wrong or self.builder.calls != self.before:
            return ""
        raised = self.builder.raised
        why = f": its kernel raises {raised}, and Python goes on without it" if raised else ""
        return f"no function of its extension comes back in a call, so torch computes all of it{why}"

    def overwrites(self) -> str:
        return "the result of one call changes when it is called again" * (
            not same(self.first, self.seen) and not self.late
        )

    def knows_addresses(self) -> str:
        if self.wrong or not same(self.first, self.seen):
            return ""
        for mine, new in zip(tensors(self.held), tensors(self.two), strict=True):
            mine.copy_(new)
        self.wrong = self.settled(self.two, self.case.run(self.held))
        return "the same tensors with other values in them get the result of the old ones" * bool(self.wrong)

    def knows_values(self) -> str:
        """Other values than `get_inputs` draws, of other signs: what is right for its own alone, computes less."""
        if self.wrong or not same(self.first, self.seen):
            return ""
        other = each_tensor(copied(self.two), lambda one: one * 1.5 - 0.25 if one.is_floating_point() else one)
        try:
            plain = tensors(self.case.want(copied(other), False))
        except Exception:  # of a probability, say
            return ""
        if not all(one.isfinite().all() for one in plain):
            return ""
        try:
            wrong = self.settled(other, self.case.run(copied(other)))
        except Exception as error:
            wrong = f"it raises {type(error).__name__}: {error}"
        said = "right for the values that are drawn, and not for x * 1.5 - 0.25 of these"
        return f"{said}: {wrong}" if wrong else ""

    def is_an_input(self) -> str:
        mine, theirs = copied(self.one), copied(self.one)
        shared = _memory(self.case.run(mine)) & _memory(mine)
        own = shared and not _memory(theirs) & _memory(self.case.want(theirs, False))
        return "its output is the memory of an input, and that of the reference is not" if own else ""

    def ignores_its_kernel(self) -> str:
        """With NaN in the place of what its kernels return, it cannot be right."""
        self.builder.spoil = True
        try:
            got = self.case.run(copied(self.two))
        except Exception:  # it looks at what it gets
            return ""
        finally:
            self.builder.spoil = False
        ignored = self.builder.spoilt and not self.trial.wrong(self.case, self.two, got)
        return "what its kernels return is not used: it is right with NaN in their place" if ignored else ""

    def leaves_threads(self) -> str:
        if self.late:
            return _LATE
        left = _threads() - self.threads
        if left and _busy(left):
            return f"{plural(len(left), 'thread')} of it still compute when it has returned"
        more = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
        return f"{plural(len(more), 'thread')} of Python's left running" if more else ""

    def replaces(self) -> str:
        """What no run on the CPU shows: the clock, here and in C++, and streams."""
        touched = self.runner.touched()
        if touched:
            self.line = self.runner.row(f"{touched[0].rpartition('.')[2]} =", touched[0].rpartition(".")[2])
        return f"it puts something else in the place of {', '.join(touched)}" if touched else ""

    def defines_a_clock(self) -> str:
        found = next((found[1] for code in self.codes() if (found := _CLOCK.search(code))), "")
        self.line = self.runner.row(found) if found else 0
        return f"its C++ defines {found}, which times are taken with" if found else ""

    def leaves_a_stream(self) -> str:
        made = next((found[1] for code in self.codes() if (found := _STREAM.search(code))), "")
        if not made or any(map(_WAITS.search, self.codes())):
            return ""
        self.line = self.runner.row(made)
        return f"{made} makes a stream, and nothing waits for it"

    def codes(self) -> list[str]:
        """List the texts without their comments and strings."""
        own = [self.runner.text] if self.runner.name.endswith(".py") else []
        return [*map(mask, self.builder.texts.values()), *own]


_ANEW, _OWN = "compute each call anew", "return a tensor that is made in the call"
#: All ways to look for cheats, in the order in which they are tried.
TABLE: tuple[tuple[str, Callable[[Probes], str], str], ...] = (
    (_LEFT, Probes.is_late, "wait for all that it starts"),
    (_REMEMBERED, Probes.gives_the_old, _ANEW),
    (_RECOGNISED, Probes.knows_the_first, _ANEW),
    (_CALLED, Probes.calls_reference, "compute it"),
    (_CALLED, Probes.calls_no_kernel, "call the kernel"),
    (_ALIASED, Probes.overwrites, _OWN),
    (_REMEMBERED, Probes.knows_addresses, _ANEW),
    (_RECOGNISED, Probes.knows_values, "compute what the reference does, for all values"),
    (_ALIASED, Probes.is_an_input, _OWN),
    (_CALLED, Probes.ignores_its_kernel, "use it"),
    (_LEFT, Probes.leaves_threads, "join all threads"),
    (_CLOCKED, Probes.replaces, "leave them alone"),
    (_CLOCKED, Probes.defines_a_clock, "leave it alone"),
    (_LEFT, Probes.leaves_a_stream, "synchronise it, or have the current stream wait for it"),
)


def copied(value: Any) -> Any:
    """Copy the tensors of a value."""
    return each_tensor(value, lambda one: one.clone())


def _memory(value: Any) -> set[int]:
    """Return where the memory of tensors begins."""
    return {one.untyped_storage().data_ptr() for one in tensors(value) if one.numel()}


def same(one: Any, other: Any) -> bool:
    """Tell whether two values have the same tensors, NaN where the other has it."""
    mine, theirs = tensors(one), tensors(other)
    pairs = zip(mine, theirs, strict=False)
    return len(mine) == len(theirs) and all(
        a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs
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
