"""Grades one text: the only place that knows the reference, the inputs' seed and the verdict, and it runs nothing of the text.

1. The builder compiles the text (`builder`), the library's calls are looked at (`symbols`).
2. A runner loads it (`runner`), and the check of `lltm_inline.checking` runs against that as against any kernel: the same cases,
   the same comparison, finite differences driven from here, with inputs that nobody knows and a few sizes beside the usual ones.
3. Each finding belongs to one criterion. A criterion is met where all that it looks at was looked at, and nothing was found.

What a text does to its runner becomes a reason. Only the machine's own failures are errors, and then there is no grade.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..base.arguments import shown
from ..checking import runner as checking
from ..checking.examine import parts_of
from ..checking.report import Finding, Section
from ..checking.runner import laboratory
from ..checking.safety import replay, safety_cases
from ..errors import InfraError, InputError, LltmInlineError
from ..model.registry import Kernel, Op
from ..run.cases.case import Case, dtypes_of, elements, with_extent
from ..run.cases.drawing import secret
from ..run.cases.layouts import LAYOUTS
from ..run.cases.tried import size_cases, viewed
from .builder import Refused, build, refusal_of_nvcc, toolchain_of
from .grades import NOT_RUN, Mark
from .lab import CRITERIA, CUDA_CHECKS, CUDA_COUNTS, Exercise, Lab, count_of, speed_of
from .locked import Broken, Gone
from .runner import Book, RemoteGuard, Runner
from .timing import below, speedup

_HIDDEN = "hidden"
#: How many sizes are drawn, each with one extent of another magnitude up to the largest; of no more elements.
_HIDDEN_SIZES, _MOST_EXTENT, _MOST_HIDDEN, _TRIES = 12, 1 << 16, 300_000, 50
_WATCHED_EXTENT, _MOST_WATCHED = 1 << 11, 20_000
#: The quantities of a finding that are about all gradients.
_OF_BACKWARD = ("backward", "gradcheck", "second derivative")
#: What a launch may be ended by on `cuda-cpu`, as `cuda_cpu/checks.h` calls it, and the criterion that says that it must not.
_SEEN = {
    "race": "races", "out of bounds": "bounds", "freed": "bounds", "misaligned": "bounds", "null pointer": "bounds",
    "divergent barrier": "barriers", "uninitialised": "uninitialised", "unwritten": "uninitialised",
}  # fmt: skip
#: What is said of a case whose launch did not run to its end; what is unwritten is seen after that.
_ENDED = {*_SEEN, checking.RAISES} - {"unwritten"}
#: Of a reason, this much is shown.
_LONGEST = 1000
#: Runs of calls, and the bytes a call that the C library itself may keep for a while; tried so often before a text is called leaky.
_RUNS, _CALLS, _KEPT, _TRIED = 4, 10, 16384, 3


def grade_text(
    lab: Lab,
    exercise: Exercise,
    text: str,
    params: Mapping[str, float],
    *,
    seed: bytes,
    trust: bool = False,
    compiler: str | None = None,
) -> tuple[Mark, ...]:
    """Grade one answer.

    Args:
        lab: of the exercise; its limits hold.
        exercise: what was asked.
        text: the answer, whatever it holds.
        params: of the text.
        seed: from which the inputs follow; nobody knows it who writes a text.
        trust: grade also where this machine lacks a lock.
        compiler: as for `build`.

    Returns:
        A mark for each criterion that has points, in their order. Whatever the text does is a reason there.

    Raises:
        InfraError: the machine failed, not the text: there is no grade.
        InputError: the exercise asks for what nobody can judge.
    """
    gradients = {f"gradient {tensor.name}" for tensor in exercise.op.gradients}
    known = (*CRITERIA, *sorted(gradients), *CUDA_CHECKS * (exercise.kind == "cuda"))
    if unknown := [n for n in exercise.points if n not in known and not count_of(n) and not speed_of(n)]:
        offered = ", ".join((*known, "speed 2"))
        raise InputError(f"{exercise.grade_id}: nothing judges {shown(unknown[0])}; want one of {offered}")
    try:
        faults = _faults(lab, exercise, text, params, seed, trust, compiler)
    except (Broken, Exception) as raised:  # of ours: what a text does never comes as one
        error = raised.error if isinstance(raised, Broken) else raised
        if isinstance(error, InfraError):
            raise error from None
        raise InfraError(f"{exercise.grade_id} was not graded: {type(error).__name__}: {error}") from raised
    marks = []
    for criterion, of in exercise.points.items():
        reason = " ".join(faults[criterion].split())
        reason = reason if len(reason) <= _LONGEST else f"{reason[: _LONGEST - 3]}..."
        marks.append(Mark(criterion, 0.0 if reason else of, of, reason))
    return tuple(marks)


def _faults(
    lab: Lab, exercise: Exercise, text: str, params: Mapping[str, float], seed: bytes, trust: bool, compiler: str | None
) -> dict[str, str]:
    """Say of each criterion why it is not met; nothing where it is."""
    criteria = list(exercise.points)
    toolchain = toolchain_of(compiler, exercise.kind)
    try:
        kernel = _kernel(exercise, exercise.kernel, text, params)
    except LltmInlineError as error:
        return _all(criteria, "builds", str(error).partition("\n")[0])
    try:
        library = build(kernel, exercise.op, toolchain, exercise.forbid, trust=trust)
    except Refused as refused:
        return _all(criteria, refused.stage, refused.reason)
    with secret(seed), laboratory(), Runner(library, exercise.op, lab.limits, trust=trust, seed=seed) as runner:
        try:
            runner.start()
        except Gone as gone:
            return _all(criteria, "builds", f"while its library is loaded, it {gone.reason}")
        except InfraError:
            raise
        except RuntimeError as error:
            return _all(criteria, "builds", f"its library cannot be loaded: {error}")
        faults = dict.fromkeys(criteria, "")
        timed = [criterion for criterion in criteria if speed_of(criterion)]
        if set(criteria) - {"builds", "forbidden", *timed}:
            faults |= _checked(exercise, runner, seed)
        # It takes as long as all the rest: a text that is wrong in something else is not handed to it.
        if exercise.kind == "cuda" and "builds" in faults and not any(faults.values()):
            faults["builds"] = refusal_of_nvcc(library, compiler, trust=trust)
        if timed:
            wrong = next(filter(None, faults.values()), "")
            faults |= dict.fromkeys(timed, wrong) if wrong else _slow(exercise, timed, runner, seed)
        return faults


def _kernel(exercise: Exercise, name: str, text: str, params: Mapping[str, float] = MappingProxyType({})) -> Kernel:
    """Make the kernel of a text for an exercise."""
    given: dict[str, Any] = {exercise.kind: text, **exercise.settings}
    return Kernel(name, params=dict(params), **given)


def _all(criteria: Sequence[str], stage: str, reason: str) -> dict[str, str]:
    """Say why nothing was looked at, and so no criterion is met: the one that failed, and then all others."""
    after = NOT_RUN[stage != "signature"]
    return {name: reason if name == stage else f"{after}: {reason}" for name in criteria}


class _Strict(checking.Runner):
    """Takes no refusal: what the reference takes a kernel must take, but for numbers of more than 32 bits."""

    here = False

    def may_refuse(self, case: Case, said: str) -> bool:
        return case.is_large and super().may_refuse(case, said)


def _checked(exercise: Exercise, runner: Runner, seed: bytes) -> dict[str, str]:
    """Run the check section by section, each in a process that lives, and say what each criterion lacks."""
    op = exercise.op
    checked = _Strict(runner.function)
    # This process computes with one thread, and so does a worker of dask; a kernel must be right on several.
    checked.threads = max(2, len(os.sched_getaffinity(0)))
    more = hidden_cases(op, seed, checked.watched)
    parts, matrix = parts_of(
        checked, more=more, safety=lambda one, sizes: replay(one, safety_cases(op, sizes), RemoteGuard(runner))
    )
    sections: dict[str, Section] = {}
    aside: list[Section] = []
    for name, part in parts.items():
        sections[name], *more_seen = _section(name, part, runner, checked)
        aside += more_seen
        if any("does not come back" in finding.text for finding in sections[name].findings):
            break  # each section would wait for as long again
    cells = {cell for row in matrix.values() for group, cell in row.items() if cell and group != "one of 0"}
    looked_at = {quantity for quantity, cells in matrix.items() if "ok" in cells.values()}
    found: dict[str, list[Finding]] = {}
    for section in (*sections.values(), *aside):
        for finding in section.findings:
            for criterion in _criteria_of(finding, exercise, op):
                found.setdefault(criterion, []).append(finding)
    faults = {}
    counted: tuple[Book, float] | str | None = None
    for criterion in exercise.points:
        quantity = f"d_{criterion.removeprefix('gradient ')}" if criterion.startswith("gradient ") else ""
        needs = {"safety": ["safety"], "memory": [], "signature": ["interface"]}.get(criterion, ["parity", "purity"])
        needs += ["gradcheck"] * bool(quantity)
        if criterion in ("builds", "forbidden") or speed_of(criterion):
            faults[criterion] = ""
        elif criterion in found:
            faults[criterion] = _told(found[criterion][0], {case.describe(op) for case in more})
        elif any(name in parts and not (name in sections and sections[name].cases) for name in needs):
            faults[criterion] = "nothing of it could be looked at: no call has given a result"
        elif (quantity and quantity not in looked_at) or (
            criterion == "parity" and not set(checked.outputs) <= looked_at
        ):
            faults[criterion] = f"{quantity or 'its result'} was never right, or never compared"
        elif criterion in CUDA_CHECKS and cells <= _ENDED:
            faults[criterion] = "nothing of it was seen: no launch ran to its end"
        elif criterion == "memory":
            faults[criterion] = _holds(op, runner, checked)
        elif count := count_of(criterion):
            counted = _counted(op, runner, checked, seed) if counted is None else counted
            faults[criterion] = counted if isinstance(counted, str) else _too_many(count, *counted)
        else:
            faults[criterion] = ""
    return faults


def hidden_cases(op: Op, seed: bytes, watched: bool = False) -> list[Case]:
    """Draw sizes that nobody knows beforehand, in each dtype and in any layout.

    One extent is of a magnitude of its own in each, and so all magnitudes are there; the others are small. Of a kernel that is
    watched, which takes a thousand times as long, the largest are left out.

    Example:
        >>> from ..model.registry import registry
        >>> cases = hidden_cases(registry.ops["axpy"], b"seed")
        >>> len(cases), cases == hidden_cases(registry.ops["axpy"], b"seed"), cases == hidden_cases(registry.ops["axpy"], b"other")
        (24, True, False)
    """
    draw, cases = random.Random(seed), list[Case]()
    longest, most = (_WATCHED_EXTENT, _MOST_WATCHED) if watched else (_MOST_EXTENT, _MOST_HIDDEN)
    axes = len(size_cases(op, None)[0].size)
    layouts = ("contiguous", *LAYOUTS)
    for number in range(_HIDDEN_SIZES if axes else 0):
        for _ in range(_TRIES):
            size = tuple(int(2 * 16 ** draw.random()) for _ in range(axes))
            long = int(2 * (longest / 2) ** ((number + draw.random()) / _HIDDEN_SIZES))
            case = Case(_HIDDEN, with_extent(size, draw.randrange(axes), long))
            if op.any_rank:  # the long one among one to four
                view = (*(draw.randint(1, 5) for _ in range(draw.randrange(4))), long)
                case = replace(viewed(op, case.size, tuple(draw.sample(view, len(view)))), group=_HIDDEN)
            if op.allows(case.size) and elements(op, case.size) < most:
                cases += [
                    replace(case, dtype=dtype, layout=draw.choice(layouts), grads=draw.choice(layouts))
                    for dtype in dtypes_of(op)
                ]
                break
    return cases


def _section(name: str, part: Any, runner: Runner, checked: checking.Runner) -> list[Section]:
    """Run one section; what ends the process ends the section, and the next has a new one.

    Returns:
        The section; and what was seen beside it, each as one of the name of the section that it belongs to.
    """
    label, raised = checked.kernel.label, runner.raised
    try:
        cases, findings, skipped, notes = part()
        runner.look_again()
    except Gone as gone:
        runner.close()
        return [_finding(label, name, "safety" if name == "safety" else "forward", f"it {gone.reason}")]
    if name not in ("parity", "interface") and runner.raised > raised and not findings:
        runner.faults.append("raises in some of its calls, at inputs that it has taken in others")
    faults, runner.faults = runner.faults[:1], []
    aside = [_finding(label, "parity", "forward", fault) for fault in faults]
    return [Section(name, cases, tuple(findings), tuple(skipped), 0.0, notes), *aside]


def _finding(label: str, name: str, what: str, text: str) -> Section:
    return Section(name, 1, (Finding(label, name, what, text),))


def _criteria_of(finding: Finding, exercise: Exercise, op: Op) -> list[str]:
    """Say to which criteria a finding belongs; what has no points of its own counts against parity."""
    gradients = [f"gradient {tensor.name}" for tensor in op.gradients]
    every = [*gradients, "parity"]
    for word, seen in _SEEN.items() if exercise.kind == "cuda" else ():
        if f"RuntimeError: {word}" in finding.text:  # of a launch that was ended there is no result
            return [seen, *every] if seen in exercise.points else every
    if finding.section == "safety":
        named = ["safety"]
    elif finding.section == "interface":
        named = ["signature"]
    elif finding.quantity in _OF_BACKWARD:
        return gradients
    elif finding.quantity.startswith("d_") and f"gradient {finding.quantity[2:]}" in gradients:
        return [f"gradient {finding.quantity[2:]}"]
    elif finding.quantity == "forward":
        named = every
    else:
        named = ["parity"]
    return named if set(named) & {*exercise.points} else every


def _told(finding: Finding, hidden: Collection[str]) -> str:
    """Say what was found, for the one who wrote the text, who raised nothing in a launch that was ended; of a hidden case only that."""
    if finding.case in hidden:
        return f"{finding.quantity} is wrong at a size that is not told"
    where = f" (at {finding.case})" if finding.case else ""
    _, _, seen = finding.text.partition("RuntimeError: ")
    return "; ".join((f"{seen if seen.startswith((*_SEEN,)) else finding.text}{where}", *finding.hints))


def _holds(op: Op, runner: Runner, checked: checking.Runner) -> str:
    """Say whether calls leave memory behind: read from outside."""
    usual, left = size_cases(op, None), 0.0
    # At a size at which what a call keeps is more than what the C library does.
    case = Case("", next((case.size for case in usual if case.threaded), usual[0].size), dtypes_of(op)[0])
    try:
        runner.calm = True
        # Once more where it looks like a leak: the C library sets up, and gives back, when it likes.
        for _ in range(_TRIED):
            held = []
            for _ in range(_RUNS * _CALLS + 1):
                checked.run_again(case)
                held.append(runner.start().held())
            # What leaks, in each call or in every third, grows in all runs; what is set up once changes one of them.
            left = min(held[end] - held[end - _CALLS] for end in range(2 * _CALLS, len(held), _CALLS)) / _CALLS
            if left <= _KEPT:
                return ""
    except Gone as gone:
        runner.close()
        return f"it {gone.reason}"
    return f"each call leaves {left / 1024:,.0f} KiB behind"


def _counted(op: Op, runner: Runner, checked: checking.Runner, seed: bytes) -> tuple[Book, float] | str:
    """Count what a call of forward does at a size that nobody knows, twice; or say why that cannot be.

    Returns:
        What it did, and the bytes of inputs and results. It must be right there, and do the same each time.
    """
    small = op.benchmark_sizes[0] if op.benchmark_sizes else size_cases(op, None)[0].size
    case = Case("", below(op, small, random.Random(seed), 1)[0], dtypes_of(op)[0])
    found = list[Book]()
    try:
        runner.calm = True
        for _ in range(2):
            runner.books = []
            if wrong := next(iter(checked.run_again(case).wrong.values()), None):
                return f"what it gives while it is counted is wrong: {wrong.text}"
            found += runner.books[:1]
    except Gone as gone:
        runner.close()
        return f"it {gone.reason}"
    finally:
        runner.books = None
    if len(found) < 2 or found[0] != found[1]:
        return "it does not do the same each time that it is called with the same"
    if found[0].lost:
        return "its launches do more in different places than there is room to count"
    return found[0], float(sum(math.prod(shape) for shape in op.extents(case.size)) * case.dtype.itemsize)


def _too_many(count: tuple[str, float], book: Book, moved: float) -> str:
    """Say that a call has more of what is counted than it may have; nothing where it has not."""
    what, most = count
    _, sectors, _ = (sum(parts) for parts in zip(book.sums["global load"], book.sums["global store"], strict=True))
    shared = ("shared load", "shared store")
    passes, least = (sum(book.sums[one][i] for one in shared) for i in (1, 2))
    found, places = {
        "sectors": (sectors / max(1.0, moved / 32), ("global load", "global store")),
        "conflicts": ((passes - least) / max(1, least), shared),
        "divergent": (book.sums["divergent branch"][0] / max(1, book.warps), ("divergent branch",)),
        "syncs": (book.barriers / max(1, book.blocks), ()),
        "launches": (book.launches, ()),
    }[what]
    if not book.launches:
        return "it launches no kernel"
    if found <= most:
        return ""
    lines = sorted({line for one in places if (line := book.worst.get(one))})
    where = f"; look at line {' and line '.join(map(str, lines))}" if lines else ""
    return f"{found:.3g} {CUDA_COUNTS[what]}, want at most {most:g}{where}"


def _slow(exercise: Exercise, criteria: Sequence[str], runner: Runner, seed: bytes) -> dict[str, str]:
    """Say why it is not as fast as each criterion wants; nothing where it is, at the lower bound of its ratio to the baseline."""
    try:
        kernel = _kernel(exercise, f"{exercise.op.name}/baseline", exercise.baseline)
        other = build(kernel, exercise.op, runner.library.toolchain, (), trust=runner.trust)
    except (Refused, LltmInlineError) as error:
        raise InfraError(f"{exercise.grade_id}: the baseline cannot be built: {error}") from error
    limits = replace(runner.limits, seconds=max(runner.limits.seconds, 10.0))
    with Runner(other, exercise.op, limits, trust=runner.trust) as baseline:
        try:
            found = speedup(exercise.op, runner, baseline, seed)
        except Gone as gone:
            runner.close()
            return dict.fromkeys(criteria, f"it {gone.reason}")
    if isinstance(found, str):
        return dict.fromkeys(criteria, found)
    middle, low, high = found
    told = f"it is {middle:.2f} times as fast as the baseline ({low:.2f}-{high:.2f}), want at least {{:g}} for sure"
    wanted = {criterion: speed_of(criterion) or 0.0 for criterion in criteria}
    return {criterion: told.format(want) if low < want else "" for criterion, want in wanted.items()}
