"""The section `safety`: whether a kernel stays within its tensors, and writes all that it returns.

All tensors lie between pages that fault when they are touched (`checking/guard.py`), once flush with the page behind and once
with the page ahead. A fault ends this process: that is told by whoever watches it, from the note that was left before each
call. What is told here did not fault: writes within the slack that alignment leaves, elements that were never written, and
results that depend on memory outside of a tensor.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from ..base.device import DEVICES
from ..errors import LltmInlineError
from ..model.registry import Op
from ..run.cases.case import Case, Size, dtypes_of, edge_axis, prime_size, small_size, with_extent
from ..run.cases.tolerance import tolerance
from ..run.cases.tried import size_cases
from ..workers import steps
from .guard import PATTERNS, Guard, Trial
from .report import Finding
from .runner import NEVER_BACK, Call, CaseResult, Part, Runner, one_line

#: Extents for which a tensor has no slack: its bytes are a multiple of c10's alignment in float32 already.
_FLUSH = 16
_ALIGNMENT = 64
_EDGES = (128, 129)
#: Extents tried when the smallest size is looked for at which a kernel dies.
_LADDER = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 128, 129, 257, 513)
#: The kinds of findings about results; after the first larger sizes are still tried. And what is said of elements, with the advice.
_UNWRITTEN, _BESIDE = "unwritten", "beside"
_NEVER_WRITTEN = "never written", "fresh memory holds whatever was there before: write every element"
_WITH_BESIDE = "computed with memory beside a tensor: past its end or before its start", ""
_WITH_UNWRITTEN = "computed with memory that was never written", ""
_BITS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}
#: What arithmetic changes in a signalling NaN: it becomes a quiet one, and may change its sign.
_QUIET = {
    torch.float64: (1 << 51) | (1 << 63),
    torch.float32: (1 << 22) | (1 << 31),
    torch.float16: (1 << 9) | (1 << 15),
    torch.bfloat16: (1 << 6) | (1 << 15),
}


def obtain(runner: Runner, trust: bool = False) -> tuple[Guard | None, str]:
    """Return the guard, or None and why there is none.

    Args:
        runner: of the kernel.
        trust: the kernel runs in the caller's own process, which must not fault.
    """
    if trust:
        return None, "guard pages: with trust=True the kernel runs in this process, which a stray access would end"
    if DEVICES[runner.device].needs_gpu:
        return None, f"guard pages: they are memory of the CPU, and the kernel runs on {runner.device}"
    try:
        return Guard(runner.guard, progress=False), ""
    except LltmInlineError as error:
        return None, f"guard pages: {one_line(error)}"


def safety(runner: Runner, sizes: Sequence[Size] | None = None, *, trust: bool = False) -> Part:
    """Run forward and backward between guard pages, at a handful of sizes, the smallest first.

    Args:
        runner: of the kernel.
        sizes: in place of the corner sizes.
        trust: leave guard pages out, since the kernel runs in the caller's own process.

    Returns:
        What did not end the process. Without guard pages only what a kernel leaves unwritten, and why in `skipped`.
    """
    guard, why = obtain(runner, trust)
    cases = safety_cases(runner.op, sizes)
    if guard is None:
        return _unguarded(runner, cases, why)
    return replay(runner, cases, guard)


def safety_cases(op: Op, sizes: Sequence[Size] | None = None) -> list[Case]:
    """List the cases: ones, primes, tensors without slack, edges of blocks, many elements once; the smallest first."""
    both = dtypes_of(op)
    if sizes is None:
        primes = prime_size(op)
        small = small_size(op)
        edge = edge_axis(op, small)
        chosen = [(1,) * len(primes), primes, _without_slack(op, small)]
        chosen += [with_extent(small, edge, extent) for extent in _EDGES]
        many = [case for case in size_cases(op, None) if case.threaded][:1]
    else:
        chosen, many = [tuple(size) for size in sizes], []
    cases = [Case("", size, dtype) for size in dict.fromkeys(chosen) for dtype in both if op.allows(size)]
    return [*ascending(op, cases), *many]


def flush_cases(op: Op) -> list[Case]:
    """List plain cases in which as many tensors as possible end where their memory ends, so that a step too far faults."""
    size = _without_slack(op, small_size(op))
    return [Case("", size, dtype) for dtype in dtypes_of(op)]


def _without_slack(op: Op, small: Size) -> Size:
    """Find the smallest size at which every tensor of the op ends where its memory ends, alignment or not."""
    best, least = small, math.inf
    for chosen in itertools.product((False, True), repeat=len(small)):
        size = tuple(_FLUSH if flush else extent for flush, extent in zip(chosen, small, strict=True))
        if not op.allows(size):
            continue
        counts = _counts(op, size)
        slack = sum(4 * count % _ALIGNMENT > 0 for count in counts)
        # First as few tensors with slack as possible (a scalar has it always), then as few elements.
        weight = slack * 1e12 + sum(counts)
        if weight < least:
            best, least = size, weight
    return best


def _counts(op: Op, size: Size) -> list[int]:
    return [math.prod(shape) for shape in op.extents(size)]


def ascending(op: Op, cases: Sequence[Case]) -> list[Case]:
    """Sort cases by the number of elements of all tensors: what dies first dies at the smallest size."""
    return sorted(cases, key=lambda case: (sum(_counts(op, case.size)), case.size))


def smaller_cases(op: Op, case: Case) -> list[Case]:
    """List cases like this one at smaller sizes, and itself last, for `replay` to find the smallest that kills.

    Extents shrink together, then one at a time: the size of a tensor's last row is often what matters.
    """
    sizes: dict[Size, None] = {}
    if case.view is None:
        for extent in _LADDER:
            sizes[tuple(min(extent, old) for old in case.size)] = None
            for axis, old in enumerate(case.size):
                sizes[with_extent(tuple(min(2, old) for old in case.size), axis, min(extent, old))] = None
                sizes[with_extent(case.size, axis, min(extent, old))] = None
    sizes.pop(case.size, None)
    weight = sum(_counts(op, case.size))
    smaller = [replace(case, size=size) for size in sizes if op.allows(size) and sum(_counts(op, size)) < weight]
    return [*ascending(op, smaller), case]


def replay(runner: Runner, cases: Sequence[Case], guard: Guard | None = None, *, fatal: bool = False) -> Part:
    """Run cases between guard pages in the order given. If this process dies, the step that was noted last names the first that kills.

    Args:
        runner: of the kernel.
        cases: of any kind, the smallest first (`ascending`, `smaller_cases`).
        guard: the guard; None builds or loads it.
        fatal: a fault is what is looked for: where a trial shows something without one, go on to the page ahead.

    Raises:
        LltmInlineError: there is no guard to be had.
    """
    guard = guard or Guard(runner.guard, progress=False)
    steps.monitor.set_finder(guard.finder)
    findings: dict[tuple[str, str], Finding] = {}
    count, skipped = 0, []
    for number, case in enumerate(cases):
        result = CaseResult()
        expected = runner.expected(case, result)  # before the guard: the reference has its own memory
        if expected is None:
            skipped.append(result.skipped)
            continue
        leaves = came_back = False
        # Many elements are for the threads; what they miss at the start, few elements show.
        for enter in (guard.at_end,) if case.threaded else (guard.at_end, guard.at_start):
            trial = Trial(runner, case, expected)
            with enter(case.dtype):
                came_back |= trial.run(guard)
            if guard.missed:
                skipped.append(f"guard pages around {guard.missed} tensors: the system gives no more address space")
            found = dict(_findings(trial))
            findings = {**found, **findings}
            leaves |= any(what != _UNWRITTEN for _, what in found)
            if leaves and not fatal:
                break
        count += came_back
        if leaves:
            # At a larger size it might fault, and nothing would be told: this is the smallest, and says more.
            if number + 1 < len(cases):
                skipped.append("larger sizes: the kernel leaves its tensors at this one")
            break
    if not count and not fatal:
        skipped.append(NEVER_BACK)
    return Part(count, list(findings.values()), list(dict.fromkeys(skipped)))


def _findings(trial: Trial) -> Iterator[tuple[tuple[str, str], Finding]]:
    """Say what a trial shows, each with a key under which it is told once."""
    runner, case = trial.runner, trial.case
    finding = partial(runner.finding, "safety", smallest=case.size)
    for step, damage in trial.damages:
        quantity = damage.name if " " not in damage.name else step
        hints = ["look at the bounds of the loop that writes it: the indices of n elements are 0 to n - 1"]
        if damage.value is not None:
            hints.append(f"written there: {damage.value:.6g}")
        text = f"{step} writes {damage.text}"
        yield (quantity, f"beside {damage.behind}"), finding(quantity, text, case, *hints)
    for name, got in trial.results.items():
        want = trial.expected.wide[name]
        if got.shape != want.shape or is_right(trial, name, got):
            continue
        for kind, text, advice in _look_at(trial, name):
            yield (name, kind), finding(name, text, case, *filter(None, [advice]))
            break


def is_right(trial: Trial, name: str, got: Tensor, want: Tensor | None = None, times: int = 1) -> bool:
    """Tell right results quickly from those that are worth a closer look.

    Args:
        trial: of which it is one.
        name, got: what to look at.
        want: in place of what is expected.
        times: as far off as is right.
    """
    want, limit = trial.expected.wide[name] if want is None else want, tolerance(trial.runner.op, trial.case)
    if got.shape != want.shape:
        return False
    return torch.allclose(got.to(want.dtype), want, times * limit.rtol, times * limit.atol, equal_nan=True)


def _bits(tensor: Tensor, dtype: torch.dtype) -> Tensor | None:
    """Return the words of a tensor that computes in this dtype; a complex one has two for each element."""
    real = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return real.contiguous().view(_BITS[dtype]) if real.dtype == dtype and dtype in _BITS else None


def _word(number: int, dtype: torch.dtype) -> int:
    """Cut a pattern to the size of a dtype, as a signed number."""
    bits = 8 * dtype.itemsize
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _look_at(trial: Trial, name: str) -> Iterator[tuple[str, str, str]]:
    """Say why a result differs from the reference, as far as memory is the reason: kind, sentence, advice; the surest first."""
    dtype, got, want = trial.case.dtype, trial.results[name], trial.expected.wide[name]
    bits = _bits(got, dtype)
    if bits is None:
        return
    fresh, beside = (_word(pattern, dtype) for pattern in PATTERNS[dtype])
    mask = ~_word(_QUIET[dtype], dtype)
    for kind, same, (what, advice) in (
        (_UNWRITTEN, bits == fresh, _NEVER_WRITTEN),
        (_BESIDE, bits & mask == beside & mask, _WITH_BESIDE),
        (_UNWRITTEN, bits & mask == fresh & mask, _WITH_UNWRITTEN),
    ):
        elements = (same.any(dim=-1) if got.is_complex() else same) & ~want.isnan()
        if elements.any():
            yield kind, _left_text(name, elements, what), advice
    text = _unlike_ordinary(trial, name)
    if text:
        yield _BESIDE, text, ""


def _left_text(name: str, left: Tensor, what: str) -> str:
    """`4 of 15 elements of new_h were never written, the first at [2, 3]`."""
    count, total = int(left.sum()), left.numel()
    if total == 1:
        return f"the one element of {name} was {what}"
    spot = torch.nonzero(left)[0].tolist()
    first = f", the first at {spot}" if count < total else ""
    amount = f"{count} of {total}" if count < total else f"all {total}"
    return f"{amount} elements of {name} {'was' if count == 1 else 'were'} {what}{first}"


def _unlike_ordinary(trial: Trial, name: str) -> str:
    """Say what is wrong between guard pages and right elsewhere: a NaN that lost its payload, a maximum that drops NaN."""
    runner, case, got, result = trial.runner, trial.case, trial.results[name], CaseResult()
    runner.compare(Call(case, trial.expected, {}, []), result, name, got, got.dtype)
    if name not in result.wrong or runner.run(case).wrong:
        return ""
    return (
        f"{result.wrong[name].text}, in memory filled with NaN beside and within new tensors; right in ordinary memory"
    )


def _unguarded(runner: Runner, cases: Sequence[Case], why: str) -> Part:
    """Look at what a kernel leaves unwritten without guard pages: torch itself fills fresh memory with NaN."""
    findings: dict[str, Finding] = {}
    count = 0
    for case in cases:
        runner.note("forward", case)
        result = runner.run(case)
        count += result.came_back
        for name, mismatch in result.wrong.items():
            if mismatch.got is None or mismatch.want is None or name in findings:
                continue
            left = mismatch.got.isnan() & ~mismatch.want.isnan()
            if left.any():
                text = _left_text(name, left, "NaN, as fresh memory is: never written, or computed from such")
                findings[name] = runner.finding("safety", name, text, case, smallest=case.size)
    return Part(count, list(findings.values()), [why] if count else [why, NEVER_BACK])
