"""Runs a kernel on one case at a time and compares everything it gives with the reference."""

from __future__ import annotations

import ctypes
import locale
import math
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..base.device import DEVICES
from ..compiling.compiler import Build
from ..diagnosis.source_text import position
from ..errors import DefinitionError
from ..model.registry import Op
from ..run.built import Built
from ..run.cases.case import THREADS, Case, Size, elements, size_text
from ..run.cases.drawing import seeded
from ..run.cases.expectation import (
    REFERENCE_SECONDS,
    Expected,
    expect,
    leaves_of,
    quantities,
    results_of,
    tensor_inputs,
)
from ..run.cases.layouts import Placed, place
from ..run.cases.tolerance import excused, tolerance
from ..run.compare import Mismatch, Tolerance, compare
from ..run.function import Function, as_tuple, differentiable, gradients_of
from ..run.library import load_built
from ..workers import steps
from ..workers.worker import Modes
from .report import COPIED, RIGHT, Finding

#: What takes so many seconds may take till the limit of time for more elements; and how many seconds are too much for one case, where
#: it is known how they grow; and where it is not, so that the square of the elements is what may be: a backward often takes that.
_LONG, _PATIENCE, _OF_A_SQUARE = 0.02, 5.0, {"reference": 40.0, "kernel": 40.0, "backward": 8.0}
#: Cases of fewer elements are run, however long they take: the first ones have set torch up, and say little. Of a kernel that is
#: watched more are, as its time grows with their number alone.
_MANY = {"reference": 1_000, "kernel": 10_000, "backward": 10_000}
#: So many elements tell how long more take.
_TELLING = 100
#: How torch refuses to look at a tensor in another shape.
_NO_VIEW = "view size is not compatible with input tensor's size and stride"
#: How device `cuda-cpu` refuses a launch that asks for more than a GPU has.
_TOO_LONG = re.compile(r"impossible launch: the dynamic shared memory (?:in bytes )?is ")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.){6,})"')
#: Enough to show a race or a wrong cut of the work.
_MOST_THREADS = 3
_RERUNS = 4
#: Mismatches of these cells are about what a kernel returns, not about values: they belong to the section `interface`.
RAISES = "raises"
#: What is said of a section that had nothing to look at.
NEVER_BACK = "no call of forward gave a result (see parity)"
#: What check mode of `cuda-cpu` (`cuda_cpu/checks.h`) and its launches call what they see, before its words.
SEEN = (
    "race|out of bounds|unwritten|uninitialised|freed|misaligned|endless|divergent barrier|assertion failed|impossible launch"
    "|too much shared memory"
)
_SEEN = re.compile(rf"(?:(?:forward|backward) raises )?RuntimeError: ({SEEN}): ")
STRUCTURAL = ("count", "no tensor", "shape", "dtype")
#: Whether torch demands deterministic algorithms during a check, whether it only warns, and whether it fills memory with NaN.
DETERMINISTIC = (True, True, True)
#: Bytes of a `struct sigaction`, and more; it begins with the address of the handler.
_SIGACTION, _ADDRESS = 256, 8
_ALGORITHMS = "which algorithms torch takes"


#: For each output and gradient and each column of cases what was found.
Matrix = dict[str, dict[str, str]]


class Part(NamedTuple):
    """What one section of a check found: number of cases, findings, what could not be tried, and what is merely slow."""

    cases: int
    findings: list[Finding]
    skipped: list[str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Took:
    """How long the largest case so far has taken.

    Attributes:
        count: of its elements.
        seconds: of the processor.
        case: which that is.
        before: count and seconds of the largest one until then that has at most half as many; None where there was none.
    """

    count: int
    seconds: float
    case: Case
    before: tuple[int, float] | None = None

    def is_too_long(self, count: int, of_a_square: float) -> bool:
        """Tell whether so many elements would take too long, as the seconds grow: s / s0 = (n / n0)^p.

        Args:
            count: of the elements.
            of_a_square: the most seconds where p is not known, and 2 is taken for it.

        Example:
            >>> Took(1000, 0.2, None, (100, 0.02)).is_too_long(16_000, 40), Took(1000, 0.2, None).is_too_long(16_000, 40)
            (False, True)
        """
        if self.seconds < _LONG:
            return False
        ratio = count / self.count
        if self.before is None or self.before[1] < _LONG:
            return self.seconds * ratio**2 >= of_a_square
        count_before, seconds_before = self.before
        power = math.log(self.seconds / seconds_before) / math.log(self.count / count_before)
        return self.seconds * ratio ** max(power, 1.0) >= _PATIENCE


@dataclass(eq=False)
class CaseResult:
    """What one case gave.

    Attributes:
        wrong: mismatches by quantity; `forward` and `backward` stand for calls that raised.
        seen: the quantities that were compared.
        impure: inputs that changed and outputs that alias, as (quantity, sentence).
        skipped: why the case could not be tried: the reference refuses it, or the memory is not enough for less.
        refused: it was the reference.
    """

    wrong: dict[str, Mismatch] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    impure: list[tuple[str, str]] = field(default_factory=list)
    skipped: str = ""
    refused: bool = False

    @property
    def came_back(self) -> bool:
        """Whether forward has returned anything that can be looked at."""
        return not self.skipped and ("forward" not in self.wrong or self.wrong["forward"].cell != RAISES)


@dataclass(eq=False)
class Call:
    """One call of a kernel: in which case, what went in, and what came out."""

    case: Case
    expected: Expected
    placed: dict[str, Placed]
    leaves: list[Any]
    outputs: tuple[Any, ...] = ()
    grads: list[Placed] = field(default_factory=list)


@contextmanager
def laboratory() -> Iterator[None]:
    """Set torch up for a check, and back afterwards.

    `at::empty` returns NaN, so that what a kernel never writes is not right by the luck of reused memory. One thread,
    but where a case asks for more: waking several for a few elements costs far more than the work, on a busy machine
    above all.
    """
    before = Modes.here()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*deterministic.*")
        replace(before, threads=1, deterministic=DETERMINISTIC).apply()
        try:
            yield
        finally:
            before.apply()


def settings() -> dict[str, object]:
    """Read what a call must leave as it is, since it holds for all that is computed afterwards in this thread or process.

    Example:
        >>> settings()["how the processor rounds"]
        'to the nearest'
    """
    one, little, tiny = 1.0, 2.0**-54, 1e-310
    rounds = "up" if one + little > one else "down" if one - little / 2 < one else "to the nearest"
    return {
        "torch's default dtype": torch.get_default_dtype(),
        "torch's default device": torch.get_default_device(),
        "whether torch records gradients": torch.is_grad_enabled(),
        "how the processor rounds": rounds,
        "what the processor does with numbers below 1e-307": "keeps them" if tiny / 2 else "takes them for 0",
        "at which errors of arithmetic the processor stops": _traps(),
        "the precision of float32 products": torch.get_float32_matmul_precision(),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the working directory": os.getcwd(),
        _ALGORITHMS: _taken(Modes.here().deterministic),
        **{f"what the process does at {one.signal}": one for one in Handler.of_all()},
    }


def _taken(deterministic: tuple[bool, bool, bool]) -> str:
    """Say which algorithms torch takes where it is demanded that they are deterministic, or not."""
    demands, only_warns, _ = deterministic
    return f"deterministic ones, and {'warns of' if only_warns else 'refuses'} the others" if demands else "any"


@dataclass(frozen=True)
class Handler:
    """What the process does at a signal, as the C library keeps it: a text may change it where Python does not see it."""

    signal: str
    address: int
    whole: bytes = field(compare=False)

    @classmethod
    def of_all(cls) -> Iterator[Handler]:
        """Read those of all signals that can have one."""
        for one in sorted(signal.valid_signals() & set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}):
            told = ctypes.create_string_buffer(_SIGACTION)
            if ctypes.CDLL(None).sigaction(one, None, told) == 0:
                yield cls(one.name, int.from_bytes(told.raw[:_ADDRESS], sys.byteorder), told.raw)

    def __str__(self) -> str:
        return {0: "what the system does", 1: "nothing"}.get(self.address, f"the function at {self.address:#x}")

    def put_back(self) -> None:
        """Have the process do that at the signal again."""
        ctypes.CDLL(None).sigaction(signal.Signals[self.signal], self.whole, None)


def _traps() -> str:
    """Name the exceptions of floating point that end the process; glibc tells."""
    read = getattr(ctypes.CDLL(None), "fegetexcept", None)
    found = read() if read else 0
    return f"at some ({found:#x})" if found else "at none"


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run with this many threads."""
    before = torch.get_num_threads()
    if count == before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_line(error: BaseException) -> str:
    """`RuntimeError: weights has shape ...`: the type and first line of an exception."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def _raises(error: BaseException) -> str:
    """`raises RuntimeError: ...`; or that it ran out of the memory that the worker allows it."""
    if steps.is_out_of_memory(error):
        limit = steps.monitor.memory
        return (
            f"runs out of memory: it may take {limit / 2**30:.3g} GiB beyond its inputs (Limits.memory) and wants more "
            f"({one_line(error)})"
        )
    return f"raises {one_line(error)}{f' ({steps.NO_EXCEPTION})' if steps.is_unknown(error) else ''}"


def _mode(case: Case) -> AbstractContextManager[Any]:
    """Enter the mode in which a case is run."""
    modes = {"": nullcontext, "no_grad": torch.no_grad, "inference_mode": torch.inference_mode}
    return modes[case.mode]()


class Runner:
    """One loaded kernel, its op, and the result of every case it was run on.

    Args:
        function: the kernel.
        guard: the library of the memory guard; None builds it when it is needed.
    """

    #: Whether the kernel runs in this process, whose memory tells what it leaves.
    here = True
    #: The same kernel in the library in which each load and store is followed.
    followed: Built | None = None

    def __init__(self, function: Function, guard: Build | None = None) -> None:
        self.function, self.guard = function, guard
        self.kernel, self.op, self.device = function.kernel, function.op, function.device
        self.watched = bool(DEVICES[self.device].check_flags)
        self.outputs = [result.name for result in self.op.signature.results]
        self.gradients = [f"d_{tensor.name}" for tensor in self.op.gradients]
        self.changed = {argument.name: argument.alias for argument in self.op.signature.changed}
        self.threads = torch.get_num_threads()
        self.settings = settings() | {_ALGORITHMS: _taken(DETERMINISTIC)}
        #: Cases for which the memory was not enough.
        self.exhausted: list[Case] = []
        #: Of reference, kernel and its backward, the largest case so far.
        self.longest: dict[str, Took] = {}
        self.untaken: list[str] = []
        self.wrong: set[str] = set()
        #: Of sizes that the reference takes apart and the text does not: what came of such a case, and what is said of it.
        self.apart: tuple[CaseResult, Finding] | None = None
        self._results: dict[tuple[Case, bool], CaseResult] = {}
        self._words: dict[Case, tuple[str, list[str]]] = {}

    def of(self, op: Op) -> Runner:
        """Return the same kernel held against another op of its signature; what is known of its calls stays known."""
        other = copy(self)
        other.op = op
        return other

    @property
    def mistaken(self) -> bool:
        """Whether a case has given a wrong result; one that is missing, or a call that raises, has given none."""
        found = (wrong.cell for result in self._results.values() for wrong in result.wrong.values())
        return any(cell not in (RAISES, "missing") for cell in found)

    def run(self, case: Case) -> CaseResult:
        """Run a case, once; the result is remembered."""
        key = case, case.threaded  # the same on one thread is another
        result = self._results.get(key)
        if result is None:
            result = self.run_again(case)
            # Threads that get in each other's way do not do so every time, unless somebody looks at each of their steps.
            for _ in range(_RERUNS if case.group == THREADS and not self.watched else 0):
                if result.wrong or result.skipped:
                    break
                result = self.run_again(case)
            self._results[key] = result
        return result

    def run_again(self, case: Case, *, alone: bool = False) -> CaseResult:
        """Run a case whether it was run before or not; `alone` on one thread."""
        if alone:
            case = replace(case, group="")
        result = CaseResult()
        call = self.begin(case, result)
        if call is not None and self.forward(call, result):
            self.backward(call, result)
        return result

    def begin(self, case: Case, result: CaseResult) -> Call | None:
        """Lay out the inputs of a case; None when it is skipped, see `expected`."""
        expected = self.expected(case, result)
        if expected is None:
            return None
        placed: dict[str, Placed] = {}

        def put(name: str, value: Tensor, layout: str) -> Tensor:
            placed[name] = place(value, layout, self.device)
            return placed[name].tensor.detach()

        with _mode(case):  # of inference mode the tensors are, too
            leaves = self.leaves(case, expected.inputs, put)
        return Call(case, expected, placed, leaves)

    def expected(self, case: Case, result: CaseResult) -> Expected | None:
        """Return what a case should give; None, with the reason, when the reference refuses it, or the memory is not enough for less."""
        result.skipped = self.untried(case) or self.takes_too_long(case)
        if result.skipped:
            return None
        try:
            expected = expect(self.op, case)
            self._took("reference", expected.seconds, case)
        except Exception as error:
            if isinstance(error, DefinitionError) and 0 in case.size:  # an index into nothing, say
                result.skipped = f"{case.describe(self.op)}: {error}"
                return None
            late = isinstance(error, TimeoutError)
            result.refused = not (late or steps.is_out_of_memory(error))
            why = "the reference refuses it" if result.refused else "the memory is not enough for the reference"
            if late:
                self._took("reference", REFERENCE_SECONDS, case)
                why = "the reference would take too long"
            result.skipped = f"{case.describe(self.op)}: {why} ({one_line(error)})"
            return None
        return expected

    def leaves(self, case: Case, inputs: Sequence[Any], put: Callable[[str, Tensor, str], Tensor]) -> list[Any]:
        """Lay out inputs as a case wants them, those that want a gradient ready for it.

        Args:
            case: says which layout, and which gradients.
            inputs: of the op.
            put: called with name, tensor and layout; returns a copy of it.
        """
        wanted = iter(case.wanted or (True,) * len(self.gradients))
        leaves = []
        for argument, value in zip(self.op.signature.inputs, inputs, strict=True):
            want = next(wanted) and not case.mode if argument in self.op.gradients else False
            leaf, layout = value, case.layout_of(argument.name)
            if isinstance(value, Tensor):
                leaf = put(argument.name, value, layout)
            elif argument.is_list:
                leaf = [put(f"{argument.name}[{number}]", item, layout) for number, item in enumerate(value)]
            leaves.append(leaf.requires_grad_() if want and differentiable(value) else leaf)
        return leaves

    def untried(self, case: Case) -> str:
        """Say why a case is left out: one with no more elements has run out of memory, which takes a second each time."""
        if not self.exhausted or elements(self.op, case.size) < elements(self.op, self.exhausted[-1].size):
            return ""
        return f"as many elements or more: the kernel had run out of memory at {self.exhausted[-1].describe(self.op)}"

    def _took(self, who: str, seconds: float, case: Case) -> None:
        """Note how long a case took; of one size what takes least, as the first call of a kind sets torch up."""
        count, known = elements(self.op, case.size), self.longest.get(who)
        if known is None or count > known.count:
            before = None if known is None else known.before
            if known is not None and 0 < 2 * known.count <= count:  # between sizes closer than that a power is noise
                before = (known.count, known.seconds)
            self.longest[who] = Took(count, seconds, case, before)
        elif count == known.count and seconds < known.seconds:
            self.longest[who] = replace(known, seconds=seconds, case=case)

    def takes_too_long(self, case: Case) -> str:
        """Say why a case of very many elements is left out: a loop in Python, or a kernel that is watched, would not come to an end."""
        many = elements(self.op, case.size)
        for who, took in self.longest.items():
            if many < _MANY[who] or (took.count < _TELLING and many < _MANY["kernel"]):
                continue
            if took.is_too_long(many, _OF_A_SQUARE[who]):
                told = f"it took {took.seconds:.2g} s at {took.case.describe(self.op)}"
                return f"{case.describe(self.op)}: the {who} would take too long; {told}"
        return ""

    def note_error(self, case: Case, error: Exception) -> None:
        """Remember a case in which the memory was not enough."""
        if steps.is_out_of_memory(error):
            self.exhausted.append(case)

    def forward(self, call: Call, result: CaseResult) -> bool:
        """Call the kernel and compare its outputs; False when there is nothing to go on with."""
        try:
            with (
                threads(self.threads_for(call.case)),
                self.step("forward", call),
                seeded(self.device),
                _mode(call.case),
            ):
                began = time.process_time()
                call.outputs = results_of(self.op, self.function(*call.leaves), call.leaves)
            self._took("kernel", time.process_time() - began, call.case)
        except Exception as error:
            self.note_error(call.case, error)
            if self.may_refuse(call.case, one_line(error)):
                result.skipped = f"{call.case.describe(self.op)}: the kernel refuses it ({one_line(error)})"
                return False
            result.wrong["forward"] = Mismatch("forward", f"forward {_raises(error)}", RAISES)
            return False
        want = call.expected.outputs
        if len(call.outputs) != len(want):
            names = [output.name for output in self.op.signature.outputs]
            count = len(call.outputs) - len(self.op.signature.changed)
            sentence = f"forward returns {count} tensors, want {len(names)}: {', '.join(names)}"
            result.wrong["forward"] = Mismatch("forward", sentence, "count")
            return False
        self.compare_outputs(call, result)
        self._purity(call, result, "forward")
        self._aliases(call, result)
        return all(isinstance(output, Tensor) for output in call.outputs)

    def may_refuse(self, case: Case, said: str) -> bool:
        """Tell whether a kernel refuses a case that it need not take: a number of more than 32 bits.

        Or a snippet does: another size or number than its example's, or other strides.
        """
        if case.is_large:
            return not _SEEN.match(said)
        if self.op.corners:
            return False
        strided = bool(case.laid) or (case.layout, case.grads) != ("contiguous", "contiguous")
        other = case.size != self.op.check_size or bool(case.numbers)
        return (strided and _NO_VIEW in said) or (other and self.refuses(said))

    def refuses(self, said: str) -> bool:
        """Tell whether a kernel refuses its inputs in words of its own: of a snippet nobody says what it has an answer for.

        One that keeps a whole row in shared memory is for rows that fit into it. What the device has seen are no words of its own.
        """
        if _SEEN.match(said):
            return _TOO_LONG.search(said) is not None
        return any(self.own_words(said))

    def own_words(self, said: str) -> Iterator[tuple[str, int]]:
        """Find the strings of the text that stand in what a call raised with, each with its line."""
        said = said.replace(self.kernel.label, "")
        for text in self.kernel.sources.values():
            for found in _STRING.finditer(text):
                if found[1] in said:
                    yield found[1], position(text, found.start())[0]

    def step(self, name: str, call: Call) -> AbstractContextManager[None]:
        """Note, in a worker, what is being done, so that it can be told after a crash."""

        def describe() -> tuple[str, list[str]]:
            if call.case not in self._words:
                self._words[call.case] = call.case.describe(self.op), steps.describe(self.op, call.leaves)
            return self._words[call.case]

        return steps.step(name, self.kernel.label, describe)

    def note(self, step: str, case: Case, leaves: Sequence[Any] = ()) -> None:
        """Note that a step begins whose end is not noted: what it has damaged may end the process a little later."""
        words = case.describe(self.op), steps.describe(self.op, leaves)
        steps.monitor.begin(step, self.kernel.label, lambda: words)

    def threads_for(self, case: Case) -> int:
        return min(self.threads, _MOST_THREADS) if case.threaded else 1

    def compare_outputs(self, call: Call, result: CaseResult) -> None:
        """Compare the outputs of a call as they are now."""
        for name, got, dtype in zip(self.outputs, call.outputs, call.expected.dtypes, strict=True):
            self.compare(call, result, name, got, dtype)

    def backward(self, call: Call, result: CaseResult) -> list[Tensor | None]:
        """Differentiate the outputs and compare the gradients that are wanted."""
        case, expected = call.case, call.expected
        wanted = self.wanted(call.leaves)
        if not wanted:
            for name, output in zip(self.outputs, call.outputs, strict=True):
                if output.requires_grad:
                    result.wrong[name] = Mismatch(name, f"{name} requires grad although no input does", "requires grad")
            return []
        named = zip(self.outputs, expected.grads, strict=True)
        call.grads = [place(grad, case.layout_of_grad(name), self.device) for name, grad in named]
        try:
            with self.step("backward", call):
                began = time.process_time()
                grads = [grad.tensor for grad in call.grads]
                found = self.differentiate(case, expected.used, call.leaves, call.outputs, grads)
            # Of a kernel that is watched the time grows as that of forward does.
            self._took("kernel" if self.watched else "backward", time.process_time() - began, case)
        except Exception as error:
            self.note_error(call.case, error)
            if self.may_refuse(call.case, one_line(error)):
                result.skipped = f"{call.case.describe(self.op)}: backward refuses it ({one_line(error)})"
                return []
            result.wrong["backward"] = Mismatch("backward", f"backward {_raises(error)}", RAISES)
            return []
        for i, got in zip(wanted, found, strict=True):
            name = self.gradients[i]
            if got is not None or expected.wide[name].count_nonzero():
                self.compare(call, result, name, got, tensor_inputs(self.op, call.leaves)[i].dtype)
            elif expected.wide[name].numel():  # none is as good as zeros, and of one without elements nothing is seen
                result.seen.append(name)
        self._purity(call, result, "backward")
        return list(found)

    def wanted(self, leaves: Sequence[Any]) -> list[int]:
        """Return which of the tensor inputs want a gradient."""
        tensors = tensor_inputs(self.op, leaves)
        return [index for index, leaf in enumerate(tensors) if isinstance(leaf, Tensor) and leaf.requires_grad]

    def differentiate(
        self,
        case: Case,
        used: Sequence[bool],
        leaves: Sequence[Any],
        outputs: Sequence[Any],
        grads: Sequence[Tensor],
    ) -> Sequence[Tensor | None]:
        """Return the gradients that are wanted, for gradients of those outputs that are used and as they should be."""
        tensors = tensor_inputs(self.op, leaves)
        fits = [getattr(output, "shape", None) == grad.shape for output, grad in zip(outputs, grads, strict=False)]
        chosen = [grad if fit and use else None for grad, fit, use in zip(grads, fits, used, strict=False)]
        with threads(self.threads_for(case)):
            return gradients_of(outputs, chosen, [tensors[index] for index in self.wanted(leaves)])

    def finding(
        self, section: str, quantity: str, text: str, case: Case, *hints: str, smallest: Size | None = None
    ) -> Finding:
        """Make a finding about this kernel, seen in a case."""
        size = size_text(self.op, smallest) if smallest is not None else ""
        return Finding(self.kernel.label, section, quantity, text, case.describe(self.op), size, hints)

    def compare(self, call: Call, result: CaseResult, name: str, got: Any, dtype: torch.dtype) -> None:
        """Compare one output or gradient of a call, and enter what is wrong with it."""
        expected, limit = call.expected, tolerance(self.op, call.case)
        want = expected.wide[name]
        result.seen.append(name)
        parts = self.op.parts.get(name.removeprefix("d_"), ())
        mismatch = compare(name, got, want, dtype, limit, parts)
        if mismatch is not None and mismatch.got is not None:
            # Before a kernel is called wrong in single precision: how far off is PyTorch itself on these inputs? What is further off
            # than that can be is wrong without asking how far it is.
            for bound in (True, False):
                wider = Tolerance(limit.rtol, limit.atol + 4 * expected.own_error(name, bound))
                mismatch = compare(name, got, want, dtype, wider, parts, partial(excused, expected, name))
                if mismatch is not None:
                    break
            if mismatch is not None and mismatch.want is not None:
                mismatch = replace(mismatch, want=expected.to_be_told(name).to(mismatch.want.dtype))
        # What is wrong where few roundings do little is no chance elsewhere.
        if mismatch is not None and mismatch.got is not None and name not in self.wrong and expected.is_chaotic(name):
            self.untaken.append(
                f"{name} at {call.case.describe(self.op)}: a rounding of the inputs changes the reference as much"
            )
        elif mismatch is not None:
            result.wrong[name] = mismatch
            self.wrong.add(name)

    def _purity(self, call: Call, result: CaseResult, when: str) -> None:
        named = list(call.placed.items())
        named += [(f"d_{name}", placed) for name, placed in zip(self.outputs, call.grads, strict=False)]
        done = {name for name, _ in result.impure}
        for name, placed in named:
            changed = placed.changed()
            if changed is None or name in done:
                continue
            itemsize = placed.storage.element_size()
            elements = changed.view(-1, itemsize).any(dim=1)
            mine = torch.zeros_like(placed.storage, dtype=torch.bool)
            mine.as_strided(placed.tensor.shape, placed.tensor.stride(), placed.tensor.storage_offset()).fill_(True)
            inside, outside = int((elements & mine).sum()), int((elements & ~mine).sum())
            if inside and name.partition("[")[0] not in self.changed:
                what = "the incoming gradient" if name.startswith("d_") else "the input"
                total = placed.tensor.numel()
                result.impure.append((name, f"{when} changes {what} {name} in {inside} of {total} elements"))
            if outside:
                result.impure.append((name, f"{when} writes outside of {name}: {outside} elements around it changed"))

    def _aliases(self, call: Call, result: CaseResult) -> None:
        for index, output in enumerate(self.op.signature.outputs):
            got = call.outputs[index]
            if not isinstance(got, Tensor) or not got.numel():
                continue
            for given, placed in call.placed.items():
                shares, same = _memory(got) == _memory(placed.storage), self.changed.get(given)
                if output.alias and output.alias == same:
                    if not shares:
                        result.impure.append(
                            (output.name, f"{output.name} is not the input {given} itself: return that")
                        )
                elif shares and not self._reference_shares(call, index):
                    text = f"{output.name} shares its memory with the input {given}: return a new tensor"
                    result.impure.append((output.name, text))
        self._shared(call, result)

    def _shared(self, call: Call, result: CaseResult) -> None:
        """Find results that lie in one piece of memory, or twice in the same place, where those of the reference do not."""
        made = {
            output.name: got
            for output, got in zip(self.op.signature.outputs, call.outputs, strict=False)
            if isinstance(got, Tensor) and got.numel() and not output.alias
        }
        told = [
            (
                name,
                f"elements of {name} lie in one place (stride 0), and writing to it fails: return a copy, .contiguous()",
            )
            for name, got in made.items()
            if torch._debug_has_internal_overlap(got) == 1
        ]
        told += [
            (two, f"{two} shares its memory with {one}: return tensors of their own, as by .clone()")
            for one, two in combinations(made, 2)
            if _memory(made[one]) == _memory(made[two])
        ]
        if told and not self._reference_shares(call):
            result.impure += told

    def _reference_shares(self, call: Call, index: int | None = None) -> bool:
        """Tell whether the reference does the like: gives views, or one tensor twice; of one result, whether it is part of an input."""
        inputs = leaves_of(self.op, call.expected.inputs)
        with seeded():
            outputs = as_tuple(self.op.reference(*inputs))
        if index is not None:
            return any(isinstance(v, Tensor) and _memory(v) == _memory(outputs[index]) for v in inputs)
        made = [one for one in outputs if isinstance(one, Tensor)]
        return len({*map(_memory, made)}) < len(made) or any(map(torch._debug_has_internal_overlap, made))


def _memory(tensor: Tensor) -> int:
    """Return where the memory begins of which a tensor is a part."""
    return tensor.untyped_storage().data_ptr()


def runner_of(built: Built) -> Runner:
    """Load a kernel, to be run on cases."""
    runner = Runner(load_built(built), built.helpers.get("guard"))
    runner.followed = built if built.follower else None
    return runner


def matrix_of(op: Op, columns: Sequence[str]) -> Matrix:
    """Make an empty matrix: a row for each output and gradient, a column for each group of cases."""
    return {quantity: dict.fromkeys(columns, "") for quantity in quantities(op)}


def fill(matrix: Matrix, column: str, result: CaseResult, outputs: Sequence[str], copied: Sequence[str] = ()) -> None:
    """Enter a result into its column, what is right and was copied as such; the first thing that is wrong stays."""
    for quantity, cells in matrix.items():
        call = result.wrong.get("forward") or (result.wrong.get("backward") if quantity not in outputs else None)
        mismatch = result.wrong.get(quantity) or call
        if mismatch is not None:
            if cells[column] in ("", RIGHT, COPIED):
                cells[column] = _word(mismatch)
        elif quantity in result.seen and not cells[column]:
            cells[column] = COPIED if quantity in copied else RIGHT


def _word(mismatch: Mismatch) -> str:
    """Say in a cell what is wrong: of a call that raised what was seen there, where the device looks at each step."""
    seen = _SEEN.match(mismatch.sentence) if mismatch.cell == RAISES else None
    return seen[1] if seen else mismatch.cell
