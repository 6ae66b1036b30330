"""What the lessons in `notebooks/` share: `self_check`, which tells a student whether an exercise is solved, and if not, why.

`passes` and `defined` look at an answer as a self-check needs it: by what it does, or by its code without the comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .base.above import Shown
from .base.arguments import one_of, require, shown, string
from .checking.check import check
from .checking.report import Report
from .cpp.functions import at_file_scope
from .cpp.masks import uncommented
from .errors import (
    BuildError,
    CacheError,
    CrashError,
    InputError,
    LltmInlineError,
    ToolchainError,
    UnknownKernelError,
    WorkerError,
)
from .model.registry import Kernel, registry, resolve
from .run.cases.case import Size
from .run.setting import Options, takes

#: What an exercise may want of a kernel: that it is right, is wrong, or crashes.
EXPECTED = ("right", "wrong", "crash")

#: What a message of a failed build says of where it failed.
_STAGE = re.compile(r"did not (compile|link|load)\b|does not fit op '\w+'")
_NAME = re.compile(r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*(@\d+)?")
#: What a machine lacks is no answer of a student, and is told as it is told elsewhere.
_NO_ANSWER = (ToolchainError, CacheError, WorkerError)

Evidence = Report | BuildError | CrashError | None
Conditions = Sequence[tuple[str, bool | Callable[[Any], Any]]]

#: Beside None and `...`, which are answers, though empty ones.
_NOT_GIVEN: Any = object()


@dataclass(frozen=True)
class Verdict(Shown):
    """What `self_check` says of an exercise.

    Attributes:
        exercise: lesson and number, `01.2`.
        ok: whether it is solved.
        text: one or two sentences of praise or of advice.
        evidence: the Report, BuildError or CrashError on which it rests, or None.

    Example:
        >>> print(Verdict("01.2", False, "Line 3 still adds."))
        Exercise 01.2: not yet. Line 3 still adds.
    """

    exercise: str
    ok: bool
    text: str
    evidence: Evidence = None

    def __str__(self) -> str:
        return f"Exercise {self.exercise}: {'solved' if self.ok else 'not yet'}. {self.text}"

    __repr__ = __str__


class _NotYet(Exception):
    """What is missing, and what shows it."""

    def __init__(self, text: str, evidence: Evidence = None) -> None:
        super().__init__(text)
        self.text, self.evidence = text, evidence


class _Tried(_NotYet):
    """What is wrong with an answer: advice follows. Before an attempt it would give the solution away."""


@takes(Options)
def self_check(
    exercise: str,
    *,
    praise: str,
    advice: str,
    kernel: Any = _NOT_GIVEN,
    value: Any = _NOT_GIVEN,
    changed_from: Kernel | str | None = None,
    expect: str = "right",
    finds: str = "",
    also: Conditions = (),
    sizes: Sequence[Size] | None = None,
    **options: Unpack[Options],
) -> Verdict:
    """Say whether an exercise of a lesson is solved, in a sentence of praise or advice.

    Whatever the answer does, compile error and crash included, becomes a Verdict.

    Args:
        exercise: lesson and number, `"01.2"`.
        praise: what to say when it is solved.
        advice: what to do next when it is not; follows what was found.
        kernel: the answer: a `Kernel`, or the name of one. None, `...` and a name that is not registered mean no answer yet.
        value: an answer of another kind; None and `...` mean no answer yet. Give either `kernel` or `value`.
        changed_from: a kernel that the answer must differ from in sources or settings, not only in comments and blanks; a name
            means its revision 0.
        expect: what the kernel must do. `"right"`: `check` finds nothing; `"wrong"`: it finds something, but no crash;
            `"crash"`: it ends in one.
        finds: a string that must occur in the report.
        also: pairs of a sentence and a condition; the sentence is shown if the condition does not hold. A function is called
            with the kernel or the value.
        sizes: as for `check`.
        options: of `Setting`, by name.

    Returns:
        A Verdict, whose `ok` is True if all of this holds.

    Raises:
        InputError: the arguments contradict each other: the lesson is wrong, not the answer.
        ToolchainError: this machine cannot build; likewise CacheError and WorkerError.

    Example:
        >>> self_check("00.1", value=..., praise="Right.", advice="Put a number in place of the dots.")
        Exercise 00.1: not yet. There is no answer here yet. Put a number in place of the dots.
        >>> self_check("00.1", value=3, praise="Right.", advice="Count again.", also=[("It is odd.", lambda n: n % 2)])
        Exercise 00.1: solved. Right.
    """
    is_kernel = _require(exercise, praise, advice, kernel, value, expect, finds, also)
    answer, evidence = value, None
    try:
        if is_kernel:
            answer = _changed(_answered(kernel), changed_from)
            evidence = _look(answer, expect, sizes, options)
            if finds and finds not in str(evidence):
                raise _Tried(f"{finds!r} stands nowhere in what was found: {_sentence(evidence.headline)}", evidence)
        elif value is None or value is ...:
            raise _Tried("There is no answer here yet.")  # advice is then how one is written
        _require_conditions(also, answer)
    except _NotYet as missing:
        text = f"{missing.text} {advice}" if isinstance(missing, _Tried) else missing.text
        return Verdict(exercise, False, text, missing.evidence)
    return Verdict(exercise, True, praise, evidence)


def _require(
    exercise: Any, praise: Any, advice: Any, kernel: Any, value: Any, expect: Any, finds: Any, also: Any
) -> bool:
    """Look at what the lesson's author wrote; return whether the answer is to be a kernel."""
    for name, text in (("exercise", exercise), ("praise", praise), ("advice", advice)):
        require(string(name, text).strip(), name, text, "a text")
    string("finds", finds)
    one_of("expect", expect, EXPECTED)
    given = [name for name, item in (("kernel", kernel), ("value", value)) if item is not _NOT_GIVEN]
    if len(given) != 1:
        got = " and ".join(given) or "neither kernel= nor value="
        raise InputError(f"exercise {exercise}: got {got}, want one of them")
    for item in also if isinstance(also, list | tuple) else [also]:
        holds = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
        require(holds, "also", item, "pairs of a sentence and a condition", f"exercise {exercise}")
    return given == ["kernel"]


def _answered(kernel: Any) -> Kernel:
    """Return the kernel that the student made."""
    if isinstance(kernel, Kernel):
        return kernel
    if kernel is None or kernel is ...:
        raise _NotYet("There is no kernel here yet.")
    if not isinstance(kernel, str):
        raise _Tried(f"The answer is {shown(kernel)}, want a Kernel or the name of one.")
    if not _NAME.fullmatch(kernel):
        raise _Tried(f"The answer is the text {shown(kernel)}, want a Kernel made of it, or the name of one.")
    try:
        return registry[kernel]
    except UnknownKernelError:
        raise _NotYet(f"There is no kernel {kernel!r} yet.") from None


def _changed(kernel: Kernel, base: Kernel | str | None) -> Kernel:
    """Return the kernel, if it is another one than it was."""
    if base is None:
        return kernel
    # The kernel as it was at first: the current one of that name may be the answer itself.
    before = registry.revision_of(base) if isinstance(base, str) else resolve(base, "changed_from")
    if kernel.op != before.op:
        raise _Tried(f"{kernel.label!r} is a kernel of the op {kernel.op!r}, want one of {before.op!r}.")
    if _substance(kernel) == _substance(before):
        same = "is as it was" if kernel.name == before.name else f"still says what {before.name!r} says"
        raise _NotYet(f"{kernel.label!r} {same}.")
    return kernel


def _substance(kernel: Kernel) -> tuple[Any, ...]:
    """Return all of a kernel that makes a difference, without its name."""
    texts = {kind: "".join(uncommented(text).split()) for kind, text in kernel.sources.items()}
    fields = ("params", "slots", "saves", "flags", "binding", "api", "functions", "double_backward", "python")
    return texts, *(getattr(kernel, name) for name in fields)


def _look(kernel: Kernel, expect: str, sizes: Sequence[Size] | None, options: Options) -> Report:
    """Check the kernel, and compare what comes of it with what the exercise wants."""
    try:
        report = check(kernel, sizes=sizes, **options)
    except BuildError as error:
        raise _Tried(f"{kernel.label!r} {_failed(error)}: {_first_line(error)}", error) from None
    except _NO_ANSWER:
        raise
    except LltmInlineError as error:
        evidence = error if isinstance(error, CrashError) else None
        raise _Tried(_sentence(str(error).partition("\n")[0]), evidence) from None
    became = report.verdict if not report.wrong else "crash" if report.crash is not None else "wrong"
    if became == expect:
        return report
    found = f"{kernel.label!r} is right" if report.ok else report.headline
    wants = {"right": "", "wrong": "one that is wrong, and does not crash", "crash": "one that crashes"}[expect]
    text = _sentence(f"{found}, and this exercise wants {wants}" if wants else found)
    raise _Tried(text, report)


def _require_conditions(also: Conditions, answer: Any) -> None:
    """Ask for what the report cannot tell; the report is as it should be by then, and is no evidence."""
    for sentence, condition in also:
        try:
            holds = bool(condition(answer) if callable(condition) else condition)
        except Exception as error:  # the answer may be anything, and so may what it does
            raised = f"{type(error).__name__}: {' '.join(str(error).split())}"
            looked = _sentence(f"Looking at the answer, {shown(answer)}, raised {raised}")
            raise _NotYet(f"{sentence} {looked}") from None
        if not holds:
            raise _NotYet(sentence)


def _failed(error: BuildError) -> str:
    """Say where a build failed, as the message of the error does."""
    stage = _STAGE.search(str(error).partition("\n")[0])
    return "cannot be built" if stage is None else f"does not {stage[1]}" if stage[1] else stage[0]


def _first_line(error: Exception) -> str:
    """Say what the compiler said first, with its place, in one line."""
    first = error.diagnostics[0] if isinstance(error, BuildError) and error.diagnostics else error
    return _sentence(str(first).partition("\n")[0])


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def passes(function: Callable[..., Any], *tensors: torch.Tensor) -> tuple[str, ...]:
    """List the calls of ATen by which a function writes whole tensors; each is a pass over memory.

    Views, memory that is not filled, and tensors smaller than the inputs do not count. A loop of the function's own is not seen.

    >>> x = torch.ones(3)
    >>> passes(lambda x, y: 2 * x + y, x, x), passes(lambda x, y: y.add(x, alpha=2), x, x)
    (('mul', 'add'), ('add',))
    """
    with _Passes(max(tensor.numel() for tensor in tensors)) as seen:
        function(*tensors)
    return tuple(seen.names)


class _Passes(TorchDispatchMode):
    """Notes which of ATen's functions write at least so many elements."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self.elements = elements
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        whole = isinstance(result, torch.Tensor) and result.numel() >= self.elements
        if whole and not func.is_view and "empty" not in name:
            self.names.append(name)
        return result


def defined(kernel: Kernel) -> tuple[str, ...]:
    """List the functions that a kernel's C++ text defines; what is commented out or inside of `#if 0` is not there.

    >>> defined(Kernel("axpy/mine", cpp="at::Tensor forward(const at::Tensor& x) { return x; }  // backward(d_z) {}"))
    ('forward',)
    """
    return tuple(function.name for function in at_file_scope(kernel.cpp))
