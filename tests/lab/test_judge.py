"""The judge: right kernels have full points, wrong ones lose those that they should, and whatever a text does is a reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lltm_inline.checking.runner import threads
from lltm_inline.errors import InputError
from lltm_inline.lab.grades import Mark
from lltm_inline.lab.judge import grade_text, hidden_cases
from lltm_inline.lab.lab import Exercise, Lab
from lltm_inline.model.registry import registry
from lltm_inline.run.cases.tried import size_cases
from lltm_inline.workers.limits import Limits
from tests.needs import needs
from tests.planted.cheats import ACTS, RIGHT, TRICKS, Act, Cheat
from tests.planted.cheats.holes import HOLES, Hole
from tests.quick import QUICK

pytestmark = needs("Landlock and seccomp")

POINTS = {
    "builds": 1.0,
    "signature": 1.0,
    "parity": 2.0,
    "gradient x": 1.0,
    "gradient y": 1.0,
    "safety": 1.0,
    "forbidden": 1.0,
}
#: One of each kind, for a run that takes no minute.
FIRST = {"patches_through_a_global", "remembers_by_address", "hides_assembly", "includes_a_secret"}


def grade(text: str, points: Mapping[str, float] = POINTS, **fields: object) -> dict[str, Mark]:
    """Grade a text for axpy; return the marks by criterion."""
    exercise = Exercise("cell", registry.ops["axpy"], "axpy/mine", points, **fields)  # type: ignore[arg-type]
    lab = Lab("lab", Path("/"), (exercise,), Limits(seconds=5, memory=1 << 30, output=1 << 20), b"secret")
    return {mark.criterion: mark for mark in grade_text(lab, exercise, text, {}, seed=b"seed", compiler=QUICK)}


def test_a_right_kernel_has_all_points() -> None:
    """Each criterion is met, and none gives a reason."""
    marks = grade(RIGHT, {**POINTS, "memory": 1.0}, forbid=("aten",))
    assert list(marks) == [*POINTS, "memory"]
    assert {name: mark.reason for name, mark in marks.items() if mark.reason or mark.points != mark.of} == {}


def test_a_wrong_gradient_costs_that_gradient() -> None:
    """The others keep their points."""
    marks = grade(RIGHT.replace("[i] = p[i];", "[i] = 3 * p[i];"))
    assert {name for name, mark in marks.items() if mark.reason} == {"gradient y"}
    assert "d_y" in marks["gradient y"].reason and marks["gradient y"].points == 0


def test_a_kernel_must_be_right_on_several_threads() -> None:
    """One that is right on one thread alone falls, wherever the judge has one thread itself."""
    one = "for (int64_t i = 0; i < z.numel(); ++i) r[i] = 2 * p[i] + q[i];"
    several = (
        "at::parallel_for(0, z.numel(), 1, [=](int64_t first, int64_t last) {"
        " for (int64_t i = first; i < last; ++i) r[i - first] = 2 * p[i] + q[i]; });"
    )
    assert one in RIGHT
    text = "#include <ATen/Parallel.h>\n" + RIGHT.replace(one, several)
    with threads(1):
        assert "right on one thread, wrong on several" in grade(text)["parity"].reason


#: One of the sizes that the grader draws from the seed of these tests.
_OP = registry.ops["axpy"]
_HIDDEN = next(
    case.size for case in hidden_cases(_OP, b"seed") if case.size not in {c.size for c in size_cases(_OP, None)}
)
#: By criterion: a text that falls by it alone where it is run at all, what is forbidden, and the reason.
FALLS = {
    "memory": (("  return z;", "  static std::vector<at::Tensor> kept;\n  kept.push_back(z.clone());\n  return z;"), (), "KiB behind"),
    "parity": (
        ("  return z;", f"  if (z.numel() == {_HIDDEN[0]}) static_cast<char*>(z.mutable_data_ptr())[3] ^= 64;\n  return z;"),
        (),
        "z is wrong at a size that is not told",
    ),
    "signature": (("const at::Tensor& y)", "const at::Tensor& y, double more)"), (), "forward"),
    "builds": (("return z;", "return why;"), (), "line 15: "),
    "forbidden": (("  return z;", "  return z.abs();"), ("aten",), "it calls at::abs, and this exercise"),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("criterion", [*FALLS])
def test_each_criterion_has_its_reason(criterion: str) -> None:
    """A mistake costs the points of its own criterion; what keeps a text from being run costs all."""
    (old, new), forbid, says = FALLS[criterion]
    text = "#include <vector>\n" + RIGHT.replace(old, new, 1)
    marks = grade(text, {**POINTS, "memory": 1.0}, forbid=forbid)
    fallen = {name for name, mark in marks.items() if mark.reason}
    assert says in marks[criterion].reason
    assert fallen == ({criterion} if criterion in ("memory", "parity") else set(marks))
    assert criterion in ("memory", "parity") or all("it is not" in marks[name].reason for name in fallen - {criterion})


def _planted(rows: tuple[Cheat, ...] | tuple[Act, ...]) -> list[object]:
    full = [pytest.mark.full]
    return [pytest.param(row, id=row.name, marks=[] if row.name in FIRST else full) for row in rows]


@pytest.mark.parametrize("cheat", _planted(TRICKS))
def test_a_cheat_falls_for_its_own_reason(cheat: Cheat) -> None:
    """It never has full points, and some mark says why."""
    marks = grade(cheat.text, forbid=cheat.forbid)
    reasons = [mark.reason for mark in marks.values() if mark.reason]
    assert sum(mark.points for mark in marks.values()) < sum(POINTS.values())
    assert any(cheat.says in reason for reason in reasons), set(reasons)


@pytest.mark.parametrize("act", _planted(ACTS))
def test_an_act_is_refused_by_name(act: Act) -> None:
    """It is not run."""
    marks = grade(act.text)
    assert act.says in marks["forbidden"].reason, {mark.reason for mark in marks.values()}
    assert not any(mark.points for mark in marks.values())


@pytest.mark.parametrize(
    "hole",
    [pytest.param(one, id=one.name, marks=[pytest.mark.full] * (number % 3 > 0)) for number, one in enumerate(HOLES)],
)
def test_what_got_past_the_judge_does_not(hole: Hole) -> None:
    """It falls for what it does; its other marks are its own."""
    marks = grade(hole.text, {**POINTS, "memory": 1.0})
    assert hole.says in marks[hole.criterion].reason, {name: mark.reason for name, mark in marks.items()}
    assert marks["builds"].points and marks["forbidden"].points


def test_a_criterion_that_nobody_judges_is_refused() -> None:
    """It must not be met by being passed over."""
    with pytest.raises(InputError, match="cell: nothing judges 'gradient z'; want one of builds"):
        grade(RIGHT, {"gradient z": 1.0})
