"""Right kernels have all points, whatever the inputs; and what is made wrong of them has not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from lltm_inline.lab.grades import Mark
from lltm_inline.lab.judge import grade_text
from lltm_inline.lab.lab import Exercise, Lab
from lltm_inline.lab.selftesting import mutants_of
from lltm_inline.model.registry import Op, registry
from lltm_inline.workers.limits import Limits
from tests.needs import needs
from tests.planted.cheats import RIGHT
from tests.quick import QUICK
from tests.texts import bodies

pytestmark = needs("Landlock and seccomp")

SHIPPED = (
    "axpy/cpp",
    "axpy/aten",
    "lltm/fused",
    "lltm/aten",
    "lltm/stable",
    "d_sigmoid/cpp",
    "cube/aten",
    "linear/aten",
    "trace/accessor",
)


def grade(label: str, text: str, seed: bytes, compiler: str) -> Sequence[Mark]:
    """Grade a text in the place of a shipped kernel."""
    base = registry[label]
    op = registry.ops[base.op]
    gradients = {f"gradient {tensor.name}": 1.0 for tensor in op.gradients}
    settings = {"saves": base.saves, "slots": base.slots, "api": base.api}
    points = {"builds": 1.0, "signature": 1.0, "parity": 1.0, **gradients, "safety": 1.0, "memory": 1.0}
    exercise = Exercise("cell", op, f"{base.op}/mine", points, settings=settings)
    lab = Lab("lab", Path("/"), (exercise,), Limits(seconds=20), b"secret")
    return grade_text(lab, exercise, text, dict(base.params), seed=seed, compiler=compiler)


@pytest.mark.full
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("label", SHIPPED)
def test_a_right_kernel_has_all_points_for_every_seed(label: str, compiler: str) -> None:
    """Twenty seeds, each with inputs and sizes of its own."""
    for number in range(20):
        marks = grade(label, registry[label].cpp, str(number).encode(), compiler)
        assert {mark.criterion: mark.reason for mark in marks if mark.reason} == {}, number


TEXTS = bodies(__file__)
#: Adds to a tensor that it is given, and returns nothing.
_ADDS = TEXTS["_adds"]


@pytest.mark.full
def test_a_kernel_that_changes_what_it_is_given() -> None:
    """The calls that are made beside those of the check change nothing of theirs."""
    op = Op(
        "adds_to",
        "(Tensor x, Tensor(a!) out) -> ()",
        lambda x, out: out.add_(x),
        {"x": "N", "out": "N"},
        differentiable=(),
    )
    exercise = Exercise("cell", op, "adds_to/mine", {"builds": 1.0, "signature": 1.0, "parity": 1.0, "safety": 1.0})
    lab = Lab("lab", Path("/"), (exercise,), Limits(seconds=20), b"secret")
    for seed in (b"one", b"two"):
        marks = grade_text(lab, exercise, _ADDS, {}, seed=seed, compiler=QUICK)
        assert {mark.criterion: mark.reason for mark in marks if mark.reason} == {}


def _survivors(label: str, text: str, most: int) -> tuple[int, list[str]]:
    made = mutants_of(text, 0, most)
    left = []
    for mutant, change in made.items():
        marks = grade(label, mutant, b"seed", QUICK)
        if all(mark.points == mark.of for mark in marks):
            left.append(change)
    return len(made), left


@pytest.mark.full
@pytest.mark.parametrize(("label", "text"), [("axpy/cpp", RIGHT), ("lltm/fused", registry["lltm/fused"].cpp)])
def test_mutants_fall(label: str, text: str) -> None:
    """At least 95 of 100, and the others are named."""
    count, left = _survivors(label, text, 40)
    assert count >= 20
    assert len(left) <= 0.05 * count, left
