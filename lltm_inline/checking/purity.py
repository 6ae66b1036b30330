"""The section `purity`: a kernel changes nothing that it was given, and keeps nothing from one call to the next."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence
from dataclasses import replace

import torch

from ..run.cases.case import MANY, Case, dtypes_of
from ..run.cases.drawing import seeded
from ..run.cases.tried import size_cases
from ..workers.worker import Modes
from .report import Finding
from .runner import (
    DETERMINISTIC,
    NEVER_BACK,
    Call,
    CaseResult,
    Handler,
    Matrix,
    Part,
    Runner,
    fill,
    settings,
)

COLUMN = "called twice"
#: Calls after which memory that is never given back shows, and the least of each: smaller pieces are Python's own.
_CALLS, _LEAST = 4, 4096
_THREADS = "calls set the number of threads of the whole process to {}: others get it, too"
_SIGNALS = "sigaction or std::signal in the text: neither Python nor torch hears of such a signal any more"
_KEPT = "something is kept between calls: a static buffer, a cached tensor, a global"


def purity(runner: Runner, cases: Sequence[Case], matrix: Matrix) -> Part:
    """Gather what the cases saw change, then call twice in a row, twice before one backward, and with inputs changed in place.

    Args:
        runner: which ran the cases.
        cases: whose inputs and incoming gradients were compared before and after each call.
        matrix: gets the column `called twice`.
    """
    findings: dict[tuple[str, str], Finding] = {}
    ran = [case for case in cases if runner.run(case).came_back]
    for case in ran:
        for quantity, text in runner.run(case).impure:
            known = (quantity, text.partition(" in ")[0])
            findings.setdefault(known, runner.finding("purity", quantity, text, case))
    sizes = dict.fromkeys(
        (cases[0].size, next((case.size for case in cases if case.layout != "contiguous"), cases[0].size))
    )
    again = [Case("", size, dtype) for size in sizes for dtype in dtypes_of(runner.op)]
    again = [case for case in again if runner.run(case).came_back]
    for case in again:
        found = *_repeated(runner, case, matrix), *_interleaved(runner, case, matrix), *_in_place(runner, case)
        for finding in found:
            findings.setdefault((finding.quantity, COLUMN), finding)
    for finding in [*_settings(runner, ran[-1]), *_reseeds(runner, again), *_leak(runner)] if ran else []:
        findings.setdefault((finding.quantity, finding.text), finding)
    notes = [_THREADS.format(torch.get_num_threads())] if torch.get_num_threads() != 1 else []  # as `laboratory` has it
    return Part(len(ran) + 3 * len(again), list(findings.values()), [] if ran else [NEVER_BACK], tuple(notes))


def _settings(runner: Runner, case: Case) -> list[Finding]:
    """Compare what a call must leave as it is with what it was before the first one, and bring it back."""
    changed = {name: (now, was) for (name, now), was in zip(settings().items(), runner.settings.values(), strict=True)}
    torch.set_grad_enabled(bool(runner.settings["whether torch records gradients"]))
    torch.set_float32_matmul_precision(str(runner.settings["the precision of float32 products"]))
    torch.set_flush_denormal(False)
    replace(Modes.here(), deterministic=DETERMINISTIC).apply()
    text = "calls leave {} changed for all that is computed afterwards: {}, before {}"
    found = []
    for name, (now, was) in changed.items():
        if now != was:
            advice = [_SIGNALS] if isinstance(was, Handler) else []
            found.append(runner.finding("purity", "forward", text.format(name, now, was), case, *advice))
            if isinstance(was, Handler):
                was.put_back()
    return found


def _reseeds(runner: Runner, cases: Sequence[Case]) -> list[Finding]:
    """Look whether torch's random numbers go on in the same way after a call, wherever they were before it."""
    for case in cases[:1]:
        states = []
        for seed in (1, 2):
            call = runner.begin(case, CaseResult())
            assert call is not None
            with seeded(runner.device, seed) as drawn, runner.step("forward", call):
                try:
                    runner.function(*call.leaves)
                except Exception:  # it came back before: what raises now and then is told where results are compared
                    return []
                if not drawn():
                    return []
                states.append(torch.get_rng_state())
        if torch.equal(*states):
            text = "each call has torch's random numbers begin anew: whatever is drawn after it is always the same"
            return [runner.finding("purity", "forward", text, case, "a manual_seed in the text")]
    return []


class _Malloc(ctypes.Structure):
    """What glibc's `mallinfo2` tells: its `hblkhd` and `uordblks` are the bytes in use, mapped by themselves and of the rest."""

    _fields_ = [("told", ctypes.c_size_t * 10)]
    _HBLKHD, _UORDBLKS = 4, 7

    @property
    def in_use(self) -> int:
        return int(self.told[self._HBLKHD] + self.told[self._UORDBLKS])


def _allocated() -> int:
    """Return the bytes that are allocated in this process; 0 where the C library does not tell."""
    read = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if read is None:
        return 0
    read.restype = _Malloc
    return int(read().in_use)


def _left(runner: Runner, case: Case) -> int:
    """Make some calls, and return how much more memory is allocated after each."""
    before = _allocated()
    for _ in range(_CALLS):
        runner.run_again(case)
    return (_allocated() - before) // _CALLS


def _leak(runner: Runner) -> list[Finding]:
    """Make a call of some size time and again: when its tensors are gone, no memory is to be left of it."""
    case = next((case for case in size_cases(runner.op, None) if case.group == MANY), None)
    if case is None or not runner.here or not runner.run(case).came_back:
        return []
    case = replace(case, group="")  # one thread: others have memory of their own
    runner.run_again(case)
    if _left(runner, case) < _LEAST:
        return []
    gc.collect()  # takes a while, and most kernels never come here
    left = _left(runner, case)
    if left < _LEAST:
        return []
    text = f"each call leaves {left / 1024:.0f} KiB allocated: its tensors are gone, and what it took or kept is not given back"
    advice = "a new or malloc without its end, or tensors put into a static container"
    return [runner.finding("purity", "forward", text, case, advice)]


def _finding(runner: Runner, quantity: str, text: str, case: Case) -> Finding:
    return runner.finding("purity", quantity, text, case, _KEPT)


def _repeated(runner: Runner, case: Case, matrix: Matrix) -> list[Finding]:
    """Make a call once more: a quantity that was right must be right again."""
    before, after = runner.run(case), runner.run_again(case)
    fill(matrix, COLUMN, after, runner.outputs)
    return [
        _finding(runner, quantity, f"{mismatch.text}, when called again with the same values", case)
        for quantity, mismatch in after.wrong.items()
        if quantity not in before.wrong
    ]


def _in_place(runner: Runner, case: Case) -> list[Finding]:
    """Put other values into the tensors of a call and call again: what knows a tensor by its address takes it for the old one."""
    other, first, later = replace(case, gain=0.5), CaseResult(), CaseResult()
    one, two = runner.begin(case, first), runner.begin(other, later)
    if one is None or two is None or not runner.forward(one, first):
        return []
    one.outputs = ()  # as a training loop lets go of them
    for name, placed in one.placed.items():
        placed.tensor.copy_(two.placed[name].tensor)
    kept = {
        name: replace(placed, before=placed.storage.view(torch.uint8).clone()) for name, placed in one.placed.items()
    }
    again = Call(other, two.expected, kept, one.leaves)
    if runner.forward(again, later):
        runner.backward(again, later)
    plain = runner.run(other)
    return [
        _finding(runner, quantity, f"{mismatch.text}, when the inputs of the last call are changed in place", case)
        for quantity, mismatch in later.wrong.items()
        if quantity not in plain.wrong
    ]


def _interleaved(runner: Runner, case: Case, matrix: Matrix) -> list[Finding]:
    """Run forward twice before backward: buffers shared between calls show in the first call's results."""
    first, second, later = CaseResult(), CaseResult(), CaseResult()
    other = replace(case, gain=0.5)
    one, two = runner.begin(case, first), runner.begin(other, second)
    if one is None or two is None or not runner.forward(one, first) or not runner.forward(two, second):
        return []
    runner.compare_outputs(one, later)
    gradients = runner.backward(one, later)
    kept = [gradient.clone() if gradient is not None else None for gradient in gradients]
    runner.backward(two, second)
    fill(matrix, COLUMN, later, runner.outputs)
    findings = []
    plain = runner.run(case)
    for quantity, mismatch in later.wrong.items():
        if quantity not in plain.wrong:
            of_forward = quantity in runner.outputs
            when = (
                "after the kernel was called once more" if of_forward else "when forward ran once more before backward"
            )
            findings.append(_finding(runner, quantity, f"{mismatch.text}, {when}", case))
    for name, gradient, copy in zip(runner.gradients, gradients, kept, strict=False):
        if gradient is not None and copy is not None and not torch.equal(gradient.nan_to_num(), copy.nan_to_num()):
            text = f"{name} of one call changes when backward runs for another: the two share a buffer"
            findings.append(_finding(runner, name, text, case))
    return findings
