"""The section `safety`, held against a kernel that leaves its tensors in every way there is, and against right ones."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lltm_inline.calling import load
from lltm_inline.checking.guard import Guard
from lltm_inline.checking.runner import Part, Runner, laboratory
from lltm_inline.checking.safety import obtain, replay, safety, safety_cases, smaller_cases
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.cases.case import MANY, Case
from lltm_inline.workers import steps
from lltm_inline.workers.client import worker
from lltm_inline.workers.outcome import Died
from tests.tiny import forget

#: y = 2x, by way of a temporary. DEFECT in the environment says what is wrong, where, and with which tensor: `read 1 x` reads
#: one element past the end of x (and uses it), `write -1 d_y` writes one before the start, `skip 1 y` leaves one unwritten.
#: One build serves all defects.
TEXT = Path(__file__).with_name("defects.cpp").read_text()

OP = Op("poked", "(Tensor x) -> Tensor y", lambda x: x * 2, {"x": "N", "y": "N"}, lambda randn, N: (randn(N),))
#: Without the size for several threads, which a forked process does not have.
SIZES = ((23,), (1,), (16,))
MIB = 1 << 18  # elements, of 4 or 8 bytes: one or two


@pytest.fixture(scope="module")
def poked() -> Iterator[Runner]:
    """Build the kernel once, and load it."""
    registry.register(OP)
    kernel = Kernel("poked/stable", cpp=TEXT, api="stable")
    runner = Runner(load(kernel, progress=False, trust=True))
    look(runner)  # so that forked processes find the guard loaded
    yield runner
    forget("poked")


def fresh(runner: Runner) -> Runner:
    """Forget what was seen of a kernel."""
    return Runner(runner.function)


def python(function: Any) -> Runner:
    """Make a runner of a Python kernel of the op."""
    kernel = Kernel("poked/wrong", python=function)
    return Runner(load(kernel, progress=False, trust=True))


def look(
    runner: Runner,
    sizes: Sequence[tuple[int, ...]] | None = SIZES,
    note: Callable[..., None] | None = None,
    **options: Any,
) -> Part:
    """Run the section in this process."""
    one = fresh(runner)
    one.note = note or one.note
    with laboratory():
        return safety(one, sizes, **options)


def noting(kernel: Kernel, path: Path) -> None:
    """Run the section, and keep the last note in a file."""
    runner = Runner(load(kernel, progress=False, trust=True))

    def note(step: str, case: Case, inputs: Sequence[Any]) -> None:
        words = steps.describe(runner.op, inputs)
        path.write_text("|".join((step, case.describe(runner.op), *words)))

    look(runner, note=note)


def last_note(runner: Runner, path: Path) -> tuple[str, list[str]]:
    """Run the section in the worker, which may die; return how it ended, and what was noted last.

    A copy of this process would not do: when other tests have used autograd's threads, backward raises there.
    """
    path.touch()
    try:
        worker.run(noting, runner.kernel, path, op=OP)
        verdict = "no end"
    except Died as died:
        verdict = signal.Signals(died.ending.code).name if died.ending.kind == "signal" else died.ending.kind
    return verdict, path.read_text().split("|")


@pytest.mark.parametrize("name", ["x", "d_y"])
@pytest.mark.parametrize(
    ("verb", "distance"), [("read", 1), ("write", 1), ("read", MIB), ("write", MIB), ("read", -MIB)]
)
def test_what_leaves_an_input_dies(poked, monkeypatch, tmp_path, verb, distance, name):
    """Past the end or far off, in forward or backward: SIGSEGV, at the smallest size, with the step, case and inputs noted."""
    monkeypatch.setenv("DEFECT", f"{verb} {distance} {name}")
    step = "forward" if name == "x" else "backward"
    assert last_note(poked, tmp_path / "note") == ("SIGSEGV", [step, "N=1, float64", "x (1,) float64"])


@pytest.mark.parametrize("defect", [f"write {MIB} y", f"read {MIB} temporary", f"write {-MIB} d_x", "read 1 freed"])
def test_what_leaves_its_own_tensors_far_dies(poked, monkeypatch, tmp_path, defect):
    """Outputs, gradients and temporaries are guarded like inputs, and freed ones too."""
    monkeypatch.setenv("DEFECT", defect)
    verdict, note = last_note(poked, tmp_path / "note")
    assert (verdict, note[0], note[1]) == (
        "SIGSEGV",
        "backward" if "d_x" in defect else "forward",
        "N=1, float64",
    )


@pytest.mark.parametrize(
    ("defect", "quantity", "text"),
    [
        ("write 1 y", "y", "forward writes 1 element past the end of y (1,) float64"),
        ("write -1 y", "y", "forward writes 1 element before the start of y (1,) float64"),
        ("write -1 x", "x", "forward writes 1 element before the start of x (1,) float64"),
        ("write -1 d_y", "d_y", "backward writes 1 element before the start of d_y (1,) float64"),
        ("write 1 d_x", "d_x", "backward writes 1 element past the end of d_x (1,) float64"),
        (
            "write 3 temporary",
            "forward",
            "forward writes 1 element past the end of a tensor that forward makes, as large as y (1,) float64, "
            "3 elements away",
        ),
        (
            "read 1 y",
            "y",
            "the one element of y was computed with memory beside a tensor: past its end or before its start",
        ),
        (
            "read -1 x",
            "y",
            "the one element of y was computed with memory beside a tensor: past its end or before its start",
        ),
        (
            "read 1 temporary",
            "y",
            "the one element of y was computed with memory beside a tensor: past its end or before its start",
        ),
        (
            "read -1 d_y",
            "d_x",
            "the one element of d_x was computed with memory beside a tensor: past its end or before its start",
        ),
    ],
)
def test_what_does_not_fault_is_told(poked, monkeypatch, defect, quantity, text):
    """Within the slack of alignment: the tensor, the distance, the smallest size; and larger sizes, which might fault, are left."""
    monkeypatch.setenv("DEFECT", defect)
    part = look(poked)
    first = part.findings[0]
    assert (first.quantity, first.text, first.case, first.smallest) == (quantity, text, "N=1, float64", "N=1")
    assert part.cases == 1
    assert part.skipped == ["larger sizes: the kernel leaves its tensors at this one"]
    if defect.startswith("write"):
        assert "written there: 0.25" in first.hints


@pytest.mark.parametrize(
    ("defect", "size", "texts"),
    [
        ("skip 1 y", 23, ["1 of 23 elements of y was never written, the first at [22]"]),
        ("skip 4 d_x", 23, ["4 of 23 elements of d_x were never written, the first at [19]"]),
        ("skip 23 y", 23, ["all 23 elements of y were never written"]),
        ("skip 1 y", 1, ["the one element of y was never written"]),
        (
            "skip 2 temporary",
            23,
            [
                "2 of 23 elements of y were computed with memory that was never written, the first at [21]",
                "2 of 23 elements of d_x were computed with memory that was never written, the first at [21]",
            ],
        ),
    ],
)
@pytest.mark.parametrize("guarded", [True, False])
def test_unwritten_elements(poked, monkeypatch, defect, size, texts, guarded):
    """How many, of how many, and the first; with guard pages it is known whether they were written with what was not."""
    monkeypatch.setenv("DEFECT", defect)
    part = look(poked, [(size,)], trust=not guarded)
    assert part.cases == 2
    found = [finding.text for finding in part.findings]
    if guarded:
        assert found == texts
    else:
        assert len(found) == len(texts)
        assert "NaN, as fresh memory is: never written, or computed from such" in found[0]


def test_a_read_whose_nan_is_dropped_shows_in_the_values(poked):
    """A maximum that ignores NaN hides it; the result still differs, between guard pages alone, and that is said."""

    def wrong(x: torch.Tensor) -> torch.Tensor:
        near = torch.empty_like(x)
        near.copy_(x.detach())
        beside = near.untyped_storage().data_ptr() + 8 * near.numel()
        return x * 2 + float(guard.find(beside) is not None)

    guard = Guard(progress=False)
    part = look(python(wrong), [(3,)])
    assert part.findings[0].text.startswith("y (3,) float64 differs in all 3 elements")
    assert part.findings[0].text.endswith("right in ordinary memory")


def test_a_right_kernel_is_right(poked):
    """Nothing is found, at all sizes, in this process."""
    part = look(poked, None)
    assert part == Part(len(safety_cases(OP)), [], [])
    assert part.cases > 8


@pytest.mark.parametrize("name", ["lltm/python", "conv_bn/python", "graph_conv/function", "complex_abs2/python"])
def test_no_false_alarm(name):
    """What PyTorch's own functions do between guard pages is right: threads, vectors, oneDNN, MKL, complex numbers."""
    kernel = registry[name]
    part = look(Runner(load(kernel, progress=False, trust=True)), None)
    assert part.findings == []
    assert part.cases >= 9


def test_what_raises_is_left_to_others(poked):
    """A kernel that raises in forward or in backward gives no finding here, and ends nothing."""

    def backward_raises(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda gradient: 1 // 0)
        return y

    for function in (lambda x: 1 // 0, backward_raises, lambda x: None, lambda x: (x, x), lambda x: x[:1].int()):
        assert look(python(function), [(3,)]).findings == []


@pytest.mark.parametrize("op", registry.ops.values(), ids=lambda op: op.name)
def test_cases(op):
    """The smallest come first: ones, then more elements, and one size for threads; tensors without slack are among them."""

    def counts(case: Case) -> list[int]:
        return [math.prod(shape(op.named(case.size))) for shape in op.shape_of.values()]

    def slack(case: Case) -> int:
        return sum(4 * count % 64 > 0 for count in counts(case))

    cases = safety_cases(op)
    weights = [sum(counts(case)) for case in cases if case.group != MANY]
    scalars = sum(shape.dims == () and not shape.any_rank for shape in op.shape_of.values())
    assert cases[0].size == (1,) * len(op.letters)
    assert weights == sorted(weights)
    assert len(cases) - len(weights) <= 1
    assert min(map(slack, cases)) == scalars


def test_cases_of_chosen_sizes():
    """Sizes that a caller chooses are sorted, in both dtypes."""
    cases = safety_cases(OP, [(5,), (2,)])
    assert [(case.size, case.dtype) for case in cases] == [
        ((size,), dtype) for size in (2, 5) for dtype in (torch.float64, torch.float32)
    ]


def test_smaller_cases_lead_to_the_smallest():
    """They ascend, differ in size alone, and end with the case itself."""
    case = Case("strided", (3, 130, 5), torch.float32, layout="strided")
    op = registry.ops["lltm"]
    cases = smaller_cases(op, case)
    assert cases[0].size == (1, 1, 1)
    assert cases[-1] == case
    assert {(each.layout, each.dtype) for each in cases} == {("strided", torch.float32)}
    assert len({each.size for each in cases}) == len(cases)
    assert any(each.size == (3, 129, 5) for each in cases)


@pytest.mark.parametrize(
    "case",
    [
        Case("", (23,), torch.float32, layout="strided"),
        Case("", (23,), layout="misaligned"),
        Case("", (23,), grads="expanded"),
        Case("", (23,), grads="padded"),
        Case("", (23,), wanted=(False,)),
        Case("", (0,)),
        Case(MANY, (70_001,), torch.float32),
    ],
)
def test_any_case_can_be_replayed(poked, case):
    """Layouts, gradients that are not wanted, no elements, several threads."""
    notes: list[str] = []
    runner = fresh(poked)
    runner.note = lambda step, case, inputs: notes.append(step)
    with laboratory():
        part = replay(runner, [case])
    assert part == Part(1, [], [])
    assert set(notes) == ({"forward"} if case.wanted else {"forward", "backward"})


class Noting(steps.Monitor):
    """Keeps what a worker would write into its black box."""

    def __init__(self) -> None:
        self.noted: list[tuple[Any, ...]] = []

    def begin(self, step: str, kernel: str, words: steps.Words) -> None:
        self.noted.append((step, kernel, *words()))


def test_numbers_among_the_inputs_are_noted_too(monkeypatch):
    """What a report of a crash between guard pages names is all that the kernel was given."""
    runner = Runner(load("mul_constant/python", progress=False, trust=True))
    monkeypatch.setattr(steps, "monitor", monitor := Noting())
    with laboratory():
        replay(runner, [Case("", (3,), torch.float32)])
    [inputs] = {tuple(inputs) for step, _, _, inputs in monitor.noted if step == "backward"}
    assert inputs[0] == "x (3,) float32" and inputs[1].startswith("c ")


def test_without_guard_pages_it_says_why(poked, monkeypatch):
    """Trust, another device, no compiler: cases run all the same, and `skipped` has the reason."""
    part = look(poked, trust=True)
    assert part.cases == 6
    assert part.findings == []
    assert part.skipped == [
        "guard pages: with trust=True the kernel runs in this process, which a stray access would end"
    ]
    assert obtain(SimpleNamespace(device="cuda")) == (
        None,
        "guard pages: they are memory of the CPU, and the kernel runs on cuda",
    )
    monkeypatch.setenv("CXX", "no-such-compiler")
    part = look(poked)
    assert part.cases == 6
    assert "no compiler 'no-such-compiler'" in part.skipped[0]


def test_sizes_that_the_reference_refuses_are_skipped():
    """They stand in `skipped` with its words."""
    kernel = registry["batch_norm2d/python"]
    runner = Runner(load(kernel, progress=False, trust=True))
    part = look(runner, [(1, 1, 1, 1), (2, 1, 1, 1)])
    assert part.cases == 2
    assert "the reference refuses it (ValueError: batch_norm2d" in part.skipped[0]
