"""Cases and what is expected of them: each way to differ is described, and each excuse keeps a right kernel right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import pytest
import torch
from torch import Tensor

from lltm_inline.checking.runner import Runner, laboratory
from lltm_inline.model.registry import Kernel, Op
from lltm_inline.run.cases import tolerance
from lltm_inline.run.cases.case import DEVIATIONS, Case
from lltm_inline.run.cases.tolerance import EXCUSES, Excuse
from lltm_inline.run.function import Function


@dataclass(frozen=True)
class Right:
    """A kernel that is right although it differs.

    Attributes:
        excuse: part of the name of the only excuse for it.
        quantity: what differs.
        reference: what the kernel is held against.
        kernel: what differs from it.
        values, dtype, size: of the case in which it does.
        shapes, op: of the op, and what else it has.
    """

    excuse: str
    quantity: str
    reference: Callable[..., Any]
    kernel: Callable[..., Any]
    values: str
    dtype: torch.dtype = torch.float64
    size: tuple[int, ...] = (17, 5)
    shapes: dict[str, str] = field(default_factory=lambda: {"x": "B F", "y": "B F"})
    op: dict[str, Any] = field(default_factory=dict)


def naive_softmax(x: Tensor) -> Tensor:
    """Take exp() of what may be large."""
    e = x.exp()
    return e / e.sum(1, True)


def near_one(randn: Callable[..., Tensor], B: int, F: int) -> tuple[Tensor]:
    """Draw numbers of which one is 1, but for a rounding."""
    x = randn(B, F)
    x[0, 0] = 1 - 5e-10
    return (x,)


WHOLE, OF_ROWS = "(Tensor x) -> Tensor[int64] y", {"x": "B F", "y": "B"}
ROWS = (
    Right("overflows on its way", "y", lambda x: x * x / x, torch.clone, "extremes"),
    Right(
        "NaN on the reference's way",
        "y",
        lambda x: naive_softmax(x).argmax(1),
        lambda x: x.argmax(1),
        "near",
        shapes=OF_ROWS,
        op={"schema": WHOLE, "differentiable": False, "corners": False},
    ),
    Right(
        "least change of the inputs changes",
        "y",
        lambda x: x.floor().long(),
        lambda x: (x + 1e-9).floor().long(),
        "",
        op={"schema": WHOLE, "differentiable": False, "inputs": near_one},
    ),
    Right("depends on the order", "d_x", lambda x: x - x.exp(), lambda x: x * (1 - x.exp() / x), "inf"),
    Right("is not finite for inputs", "d_x", lambda x: x.abs().sqrt(), lambda x: x.abs().clamp(min=1e-300).sqrt(), "0"),
    Right("gradient that jumps", "d_x", lambda x: x.amax(1), lambda x: x.max(1).values, "1", shapes=OF_ROWS),
    Right("a kernel may do better", "y", naive_softmax, lambda x: torch.softmax(x, 1), "1e4"),
    Right(
        "sum of the largest",
        "y",
        lambda x: x.cumsum(1)[:, -1],
        lambda x: x.flip(1).cumsum(1)[:, -1],
        "extremes",
        size=(1, 8),
        shapes=OF_ROWS,
    ),
    Right("a gradient at 0", "d_x", torch.clone, lambda x: torch.where(x == 0, 0 * x, x), "0"),
    Right(
        "anybody's choice",
        "y",
        lambda x, w: w[x.argsort(stable=True)],
        lambda x, w: w[len(x) - 1 - x.flip(0).argsort(stable=True)],
        "halves",
        shapes={"x": "B", "w": "B F", "y": "B F"},
        op={"schema": "(Tensor x, Tensor w) -> Tensor y"},
    ),
    Right("in the dtype of the case", "y", torch.exp, torch.exp, "100", torch.float32),
)


@pytest.mark.parametrize("excuse", EXCUSES, ids=lambda excuse: excuse.name)
def test_each_excuse_alone_keeps_a_right_kernel_right(excuse: Excuse, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds for a kernel that no other excuses, which would be called wrong without it."""
    (row,) = [row for row in ROWS if row.excuse in excuse.name]
    given = {"schema": "(Tensor x) -> Tensor y", **row.op}
    op = Op("excused", reference=row.reference, shapes=row.shapes, **given)
    kernel = Kernel("excused/right", python=row.kernel)
    runner = Runner(Function(kernel, op, None, None, row.kernel))
    case = Case("", row.size, row.dtype, values=row.values)
    with laboratory():
        assert row.quantity not in runner.run_again(case).wrong
        monkeypatch.setattr(tolerance, "EXCUSES", tuple(one for one in EXCUSES if one is not excuse))
        assert row.quantity in runner.run_again(case).wrong


def test_each_field_of_a_case_is_a_deviation_that_can_be_left_out() -> None:
    """None is forgotten where a case is described, or where a check looks for what sets a case apart."""
    known = [name for one in DEVIATIONS for name in (one.name, *one.also)]
    assert {*known} == {one.name for one in fields(Case)} - {"group", "size", "dtype"}
    case = Case("", (3,), values="1", only="x", used=("y",))
    assert [one.name for one in DEVIATIONS if one.holds(case)] == ["values", "used"]
    for one in DEVIATIONS:
        case = one.without(case)
    assert case.plain
