"""A check itself: loads the kernel, runs section after section, and tells of each as it is finished."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from ..base.progress import emit, say
from ..cpp.masks import mask
from ..cuda_cpu import narrow_indices
from ..model.op import of_dtype
from ..model.registry import Op
from ..run.cases.case import Case, Size, dtypes_of, edge_axis, elements, prime_size, with_extent
from ..run.cases.drawing import seeded
from ..run.cases.pairs import pair_cases
from ..run.cases.tolerance import tolerance
from ..run.cases.tried import (
    LONG,
    LONG_AXIS,
    given_cases,
    layout_cases,
    other_numbers,
    size_cases,
    subset_cases,
    wide_integers,
)
from ..run.compare import dtype_name
from ..run.executor import Task
from ..source.signature import own_text
from ..workers import steps
from .derivatives import derivatives
from .explain import explain, findings_of, refuses_what_it_declares
from .follow import follow
from .interface import copied_in, interface, is_dense
from .large import large_numbers
from .opcheck import is_operator, opcheck
from .purity import purity
from .report import APART, Finding, Report, Section
from .runner import RAISES, Matrix, Part, Runner, fill, laboratory, matrix_of, runner_of
from .safety import safety

#: Extent of one letter in the cases about layout: whole vectors and a rest, in both dtypes.
_VECTOR_AND_REST = 19
#: How torch says that it is not the dtype that it wants, which a text asks for by `data_ptr<float>`, say.
_OF_DTYPES = re.compile(r"\b(?:dtypes?|scalar_?.?types?)\b|can't be cast")
#: In which a report has the sections.
_ORDER = ("interface", "parity", "purity", "gradcheck", "opcheck", "safety")


@dataclass(frozen=True)
class Examination(Task):
    """A check, or its section `gradcheck` alone.

    Attributes:
        sizes: in place of the corner sizes.
        gradients_only: the section `gradcheck` alone.
    """

    sizes: list[Size] | None
    gradients_only: bool

    def run(self) -> Report:
        """Load the kernel, and run section after section."""
        runner = runner_of(self.built[0])
        _require_op(runner.op, prime_size(runner.op))
        with laboratory():
            if not self.sizes:
                runner = _tied(runner)
            runner = _narrowed(runner)
            return (_gradcheck if self.gradients_only else _check)(runner, self.sizes)


def _tied(runner: Runner) -> Runner:
    """Take for one the letters of an example that a kernel does not take for two, such as the lengths of two tables.

    The op was made of one example, and its reference bears more than the text. Where the text refuses the size in words of its own,
    letters that are equal in the example stay so. Where it is wrong in other ways, and less so with such letters as one, they do as
    well, so that the one finding which says it does not bury the others.
    """
    op = runner.op
    twins = twins_of(op)
    if not twins:
        return runner
    refuses = bool(_refusal(runner, _own_dtype(op)))
    case = Case("", prime_size(op), _own_dtype(op))
    wrong = {*runner.run(case).wrong}
    families = [[twin for twin in twins if twin[1] == one] for one in dict.fromkeys(one for _, one in twins)]
    groups = [[twin] for twin in twins] + [many for many in (*families, twins) if len(many) > 1]
    for chosen in groups if wrong else ():
        tied = runner.of(_as_one(op, dict(chosen)))
        if not tied.op.allows(tied.op.check_size):
            continue
        if refuses and not _refusal(tied, _own_dtype(op)):
            return tied
        if not refuses and _is_better(tied, wrong):
            tied.apart = runner.run(case), _found_apart(runner, case, dict(chosen), tied.op)
            return tied
    return runner


def twins_of(op: Op) -> list[tuple[str, str]]:
    """List the letters of an example that are equal in it and not in a check: each with the one that it would go along with."""
    if op.corners or not op.check_size or not op.benchmark_sizes:
        return []
    own, size = (op.named(one) for one in (op.benchmark_sizes[0], op.check_size))
    first = {extent: letter for letter, extent in reversed(own.items())}
    return [(letter, first[extent]) for letter, extent in own.items() if size[first[extent]] != size[letter]]


@dataclass(frozen=True)
class Together(Task):
    """A second look at a kernel that crashed: with those letters as one that are equal in the example of its op."""

    def run(self) -> str:
        """Return what is to be said where it does not crash then, and is right; nothing else where it comes back."""
        runner = runner_of(self.built[0])
        op, twins = runner.op, dict(twins_of(runner.op))
        tied = runner.of(_as_one(op, twins))
        if not tied.op.allows(tied.op.check_size):
            return ""
        with laboratory():
            found = safety(tied).findings
            sizes = dict.fromkeys(case.size for case in size_cases(tied.op, None) if not case.threaded)
            wrong = any(tied.run(Case("", size, _own_dtype(op))).wrong for size in sizes)
        return "" if found or wrong else _apart_words(op, twins, tied.op, "does not crash")


def _is_better(tied: Runner, wrong: Set[str]) -> bool:
    """Tell whether less is wrong with an op of fewer letters: a call that raised comes back, or fewer quantities are."""
    left = {*tied.run_again(Case("", tied.op.check_size, _own_dtype(tied.op))).wrong}
    return "forward" not in left if "forward" in wrong else left < wrong


def _found_apart(runner: Runner, case: Case, twins: Mapping[str, str], tied: Op) -> Finding:
    """Make the finding of a text that takes for one what the reference takes for two, with the ways out."""
    op = runner.op
    wrong = runner.run(case).wrong
    quantity = next(name for name in ("forward", *runner.outputs, "backward", *runner.gradients) if name in wrong)
    found = explain(runner, [case], "parity", quantity, case)
    hint = _apart_words(op, twins, tied, "does better", "; all other cases have that")
    return replace(found, hints=(*found.hints, hint))


def _apart_words(op: Op, twins: Mapping[str, str], tied: Op, does: str, more: str = "") -> str:
    """Say that the reference takes for two what the text takes for one, and the ways out."""
    places = {
        word: f"{argument.name}.size({axis})"
        for argument in reversed(op.signature.inputs)
        if argument.type == "Tensor" and isinstance(op.shapes[argument.name], str)
        for axis, word in reversed([*enumerate(op.shapes[argument.name].split())])
    }
    asked = [f"{places[one]} == {places[two]}" for one, two in twins.items() if {one, two} <= {*places}]
    ways = [f'TORCH_CHECK({" && ".join(asked)}, "want equal sizes") in the text'] if len(asked) == len(twins) else []
    drawn = [
        f"randn({', '.join(map(str, tied.shape_of[one.name].dims))})"
        for one in op.signature.inputs
        if one.name in op.shapes
    ]
    made = f" = lambda randn, {', '.join(tied.letters)}: ({', '.join(drawn)},)" if op.inputs is None else ""
    ways.append(f"inputs{made or ' as a function which has one letter for both'}")
    apart, equal = (" and ".join(f"{one} {sign} {two}" for one, two in twins.items()) for sign in ("!=", "="))
    return (
        f"the reference takes {apart}, and the text {does} with {equal}, as in the example{more}. Mend it, or, "
        f"if these sizes belong together, say so: {', or '.join(ways)}"
    )


def _as_one(op: Op, twins: Mapping[str, str]) -> Op:
    """Write other letters in place of some, in the shapes of an op that is made of an example."""
    letters = re.compile(rf"(?<![A-Za-z_])(?:{'|'.join(twins)})(?![A-Za-z_0-9])")
    shapes = {
        name: letters.sub(lambda found: twins[found[0]], shape) if isinstance(shape, str) else shape
        for name, shape in op.shapes.items()
    }
    draw = op.inputs

    def inputs(randn: Callable[..., Tensor], **sizes: int) -> Any:
        assert draw is not None
        return draw(randn, **sizes, **{letter: sizes[other] for letter, other in twins.items()})

    tied = replace(op, shapes=shapes, inputs=draw and inputs, check_size=(), benchmark_sizes=())
    own, size = (op.named(one) for one in (op.benchmark_sizes[0], op.check_size))
    for letter, other in twins.items():
        size[other] = min(size[other], size[letter])  # the larger one was there to be another
    return replace(
        tied,
        benchmark_sizes=(tuple(own[letter] for letter in tied.letters),),
        check_size=tuple(size[letter] for letter in tied.letters),
    )


def _narrowed(runner: Runner) -> Runner:
    """Leave out the dtypes that a snippet refuses at the size of its example, or computes in single precision alone.

    In the example's own dtype it takes that size.
    """
    op = runner.op
    if op.corners or op.first.dtype:
        return runner
    found = {name: _refusal(runner, getattr(torch, name).to_real()) for name in op.dtypes[1:]}
    untaken = {
        name: f"the kernel refuses it ({said})"
        for name, said in found.items()
        if said and not refuses_what_it_declares(runner.kernel, said)
    }
    if "float64" in op.dtypes[1:] and "float64" not in untaken and _is_single(runner):
        untaken["float64"] = "the text computes it in single precision, so it is compared in float32 alone"
    if not untaken or _refusal(runner, _own_dtype(op)):
        return runner
    narrowed = runner.of(replace(op, dtypes=tuple(name for name in op.dtypes if name not in untaken)))
    narrowed.untaken = [f"{name}: {why}" for name, why in untaken.items()]
    return narrowed


#: What computes in single precision, whatever the dtype.
_SINGLE = re.compile(r"float(?!ing)|half|\d\.?\d*(?:e-?\d+)?f\b|\b(?!if\b|sizeof\b)_*[a-z]\w*f\s*\(", re.IGNORECASE)


def _is_single(runner: Runner) -> bool:
    """Tell whether results in float64, at the size of the example, are off by the roundings of float32, and by no more than in float32."""
    op, texts = runner.op, (mask(own_text(text)) for text in runner.kernel.sources.values())
    if _own_dtype(op) != torch.float32 or not any(map(_SINGLE.search, texts)):
        return False
    wide, narrow = (Case("", prime_size(op), dtype) for dtype in (torch.float64, torch.float32))
    strict = {*runner.run_again(wide).wrong}
    if not strict:
        return False
    single = tolerance(op, narrow)
    loosened = replace(op, tolerances={**op.tolerances, "float64": (single.rtol, single.atol)})
    loose = {*runner.of(loosened).run_again(wide).wrong}
    return loose < strict and loose <= {*runner.run_again(narrow).wrong}


def _own_dtype(op: Op) -> torch.dtype:
    """Return the dtype of the example that an op is made of."""
    return dtypes_of(op)[0] if op.first.dtype else getattr(torch, op.dtypes[0]).to_real()


def _refusal(runner: Runner, dtype: torch.dtype) -> str:
    """Return what a kernel says where it refuses the size of an example, in words of its own, or a dtype."""
    size = prime_size(runner.op)
    raising = runner.of(replace(runner.op, check_size=size))  # at any other size, a refusal is left out
    wrong = raising.run_again(Case("", size, dtype)).wrong.get("forward")
    said = wrong.sentence.removeprefix("forward raises ") if wrong is not None and wrong.cell == RAISES else ""
    return said if runner.refuses(said) or (dtype != _own_dtype(runner.op) and _OF_DTYPES.search(said)) else ""


def _require_op(op: Op, size: Sequence[int]) -> None:
    """Make inputs of an op and call its reference once: what is wrong with the op is no fault of a kernel.

    Raises:
        DefinitionError: `inputs` or the reference fails, or gives something else than the schema says.
    """
    dtype = getattr(torch, op.dtypes[-1]).to_real()  # complex inputs are made of real numbers
    if op.first.dtype:
        dtype = dtypes_of(op)[0]
    with torch.no_grad(), steps.step("reference", f"{op.name}/python"), seeded():
        op.run_reference(*op.make_inputs(lambda *shape: of_dtype(torch.randn(shape), dtype_name(dtype)), size))


def _check(runner: Runner, sizes: list[Size] | None) -> Report:
    parts, matrix = parts_of(runner, sizes, last=() if sizes else large_numbers(runner))
    order = [name for name in _ORDER if name in parts]
    return _report(runner, parts, order, matrix)


def parts_of(
    runner: Runner,
    sizes: Sequence[Size] | None = None,
    more: Sequence[Case] = (),
    last: Iterable[Case] = (),
    safety: Callable[[Runner, Sequence[Size] | None], Part] | None = None,
) -> tuple[dict[str, Callable[[], Part]], Matrix]:
    """Return the sections of a check, each still to be run, in the order in which that is done; and the matrix that they fill.

    Args:
        runner: of the kernel.
        sizes: in place of the corner sizes.
        more: cases beside those.
        last: cases that come behind all others, and are asked for only then.
        safety: looks at what lies around tensors, in place of guard pages in this process.
    """
    op = runner.op
    # Where an extent is one, its stride tells nothing: of the caller's sizes the first with the fewest of those.
    small = max(sizes, key=lambda size: sum(extent > 1 for extent in size)) if sizes else prime_size(op)
    mixed = small if sizes else with_extent(small, edge_axis(op, small), _VECTOR_AND_REST)
    layouts = layout_cases(op, mixed)
    if sizes:  # and no others, such as one row
        layouts = [case for case in layouts if case.size == layouts[0].size]
    cases = [*size_cases(op, sizes), *layouts, *subset_cases(op, small), *more]
    cases += pair_cases(op, layouts[0].size, layouts[0].view) if not sizes else []
    cases += [*given_cases(op), *other_numbers(op), *wide_integers(op)] if not sizes else []
    if runner.watched:  # a row may be a block of threads there, and 65,539 of them take longer than all else
        cases = [case for case in cases if case.group != LONG_AXIS or len(case.size) == 1 or case.size[0] <= LONG[2]]
        cases = [case for case in cases if case.group != LONG_AXIS or not case.values]
    if is_dense(runner):  # of vectors that are loaded at once it takes for granted where they begin
        cases = [case for case in cases if "misaligned" not in (case.layout, case.grads, *dict(case.laid).values())]
    # What a small case shows is told of that; and what it takes tells whether a larger one would come to an end.
    cases.sort(key=lambda case: (case.threaded, elements(op, case.size) if case.group == LONG_AXIS else 0))
    columns = [*dict.fromkeys(case.group for case in cases), "called twice", *["gradcheck"] * bool(op.gradients)]
    columns += [APART] * bool(runner.apart)
    matrix = matrix_of(op, columns)
    # Interface and purity read what the cases of parity saw, so these run first; the report has them in another order.
    parts: dict[str, Callable[[], Part]] = {
        "parity": lambda: _parity(runner, cases, last, matrix),
        "interface": lambda: interface(runner, cases, small),
        "purity": lambda: purity(runner, cases, matrix),
    }
    if op.gradients:
        parts["gradcheck"] = lambda: derivatives(runner, sizes or [small], matrix)
    if is_operator(runner):
        parts["opcheck"] = lambda: opcheck(runner, small)
    # Last: what goes past the end of a tensor and does no harm otherwise ends the worker here.
    parts["safety"] = lambda: (safety or _safety)(runner, sizes)
    return parts, matrix


def _gradcheck(runner: Runner, sizes: list[Size] | None) -> Report:
    matrix = matrix_of(runner.op, ["gradcheck"])
    sections = {"gradcheck": lambda: derivatives(runner, sizes or [prime_size(runner.op)], matrix)}
    return _report(runner, sections, ("gradcheck",), matrix)


def _parity(runner: Runner, cases: Sequence[Case], last: Iterable[Case], matrix: Matrix) -> Part:
    """Run every case and enter it into the matrix."""
    ran, skipped, untried, all_cases = 0, list[str](), "", list[Case]()
    # What the case before has given goes along with the next: one message for each.
    column, cells = "", dict[str, str]()
    for case in chain(cases, last):
        all_cases.append(case)
        emit("case", case, column, cells)
        result = runner.run(case)
        if result.skipped:
            if not result.refused and case.numbers:
                skipped.append(result.skipped)
            elif not result.refused:
                untried = result.skipped  # the last says the most
            elif not case.plain and not runner.run(Case("", case.size, case.dtype, view=case.view)).refused:
                # That the kernel refuses a plain size, too, is tried in the section `interface`.
                skipped.append(result.skipped)
        else:
            ran += 1
            fill(matrix, case.group, result, runner.outputs, copied_in(runner, case))
            column, cells = case.group, {name: row[case.group] for name, row in matrix.items()}
    skipped += [untried] if untried else []
    findings = findings_of(runner, all_cases, structural=False)
    if runner.apart:  # last, as it says the least
        fill(matrix, APART, runner.apart[0], runner.outputs)
        findings.append(runner.apart[1])
    return Part(ran, findings, [*runner.untaken, *skipped])


def _safety(runner: Runner, sizes: Sequence[Size] | None) -> Part:
    part = safety(runner, sizes, trust=not steps.in_worker())
    if runner.watched and runner.function.build is not None:  # known once all cases have run
        narrow = narrow_indices(str(runner.function.build.path), runner.kernel.sources.values())
        part = part._replace(notes=(*part.notes, *narrow))
    steps.monitor.end()
    if runner.followed is None or not steps.in_worker():
        return part
    races = follow(runner, runner.followed, sizes)
    return Part(
        part.cases + races.cases,
        [*part.findings, *races.findings],
        [*part.skipped, *races.skipped],
        (*part.notes, *races.notes),
    )


def _report(
    runner: Runner,
    parts: dict[str, Callable[[], Part]],
    order: Sequence[str],
    matrix: Matrix,
) -> Report:
    begun = time.perf_counter()
    sections, told = {}, set[str]()
    emit("plan", tuple(order))
    for name, part in parts.items():
        say(f"checking {runner.kernel.label}: {name}")
        emit("section", name)
        started = time.perf_counter()
        cases, findings, skipped, notes = part()
        seconds = time.perf_counter() - started
        # What a section has left out is said once.
        skipped = [reason for reason in skipped if reason not in told or not cases]
        told.update(skipped)
        sections[name] = Section(name, cases, tuple(findings), tuple(skipped), seconds, notes)
        emit("finished", sections[name], {name: dict(cells) for name, cells in matrix.items()})
    seen = {quantity: cells for quantity, cells in matrix.items() if any(cells.values())}
    return Report(
        runner.kernel.label, runner.device, tuple(sections[name] for name in order), seen, time.perf_counter() - begun
    )
