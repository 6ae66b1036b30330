"""The section `purity`: a kernel changes nothing that it was given, and keeps nothing from one call to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from ..run.cases import Case, dtypes_of
from .report import Finding
from .runner import NEVER_BACK, Call, CaseResult, Matrix, Part, Runner, fill

COLUMN = "called twice"
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
        for finding in [
            *_repeated(runner, case, matrix),
            *_interleaved(runner, case, matrix),
            *_in_place(runner, case),
        ]:
            findings.setdefault((finding.quantity, COLUMN), finding)
    return Part(len(ran) + 3 * len(again), list(findings.values()), [] if ran else [NEVER_BACK])


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
            when = (
                "after the kernel was called once more"
                if quantity in runner.outputs
                else "when forward ran once more before backward"
            )
            findings.append(_finding(runner, quantity, f"{mismatch.text}, {when}", case))
    for name, gradient, copy in zip(runner.gradients, gradients, kept, strict=False):
        if gradient is not None and copy is not None and not torch.equal(gradient.nan_to_num(), copy.nan_to_num()):
            text = f"{name} of one call changes when backward runs for another: the two share a buffer"
            findings.append(_finding(runner, name, text, case))
    return findings
