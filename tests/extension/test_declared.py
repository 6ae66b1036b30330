"""What a text declares it must do: the dtypes that it dispatches over, the strides that it asks for; and where it raises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.report import Report
from tests import tiny
from tests.quick import QUICK
from tests.texts import bodies

TEXTS = bodies(__file__)
DISPATCHES = TEXTS["dispatches"]
STRIDES = TEXTS["strides"]
ROWS = TEXTS["rows"]
REFUSES = TEXTS["refuses"]
#: It grows by an element at a time: its backward takes a copy of all for each.
GROWS = TEXTS["grows"]


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    with tiny.registry_as_before():
        yield


def checked(text: str, *inputs: torch.Tensor, name: str = "twice") -> Report:
    """Check a snippet against twice its first input, times its second; or rows of it."""

    def twice(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    def scaled(x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        return x * s[0]

    def rows(x: torch.Tensor, idx: torch.Tensor) -> torch.Tensor:
        return x[idx]

    reference = rows if name == "rows" else scaled if len(inputs) > 1 else twice
    kernel = li.from_load_inline("e", text, functions=[name], reference=reference, inputs=inputs)
    assert not isinstance(kernel, tuple)
    return li.check(kernel, compiler=QUICK, progress=False)


def hints_of(report: Report) -> tuple[str, ...]:
    """Return those of the first finding."""
    return report.findings[0].hints


def test_a_dtype_that_it_dispatches_over_is_no_refusal() -> None:
    """A pointer to float where the text says that it takes double is wrong, at its line; one of a tensor that is always float is not."""
    inputs = torch.randn(4, 5), torch.randn(3)
    wrong = checked(DISPATCHES.replace("KIND", "float"), *inputs)
    assert "forward raises RuntimeError: expected scalar type Float but found Double" in str(wrong)
    assert hints_of(wrong)[0] == (
        "line 6 takes xc.data_ptr<float>, and its dtype is what the text dispatches over: write scalar_t for float there"
    )


@pytest.mark.full
def test_a_dtype_of_another_tensor_may_be_refused() -> None:
    """A scale that is float, whatever the dispatch: the dtype is left out, and that is said."""
    text = DISPATCHES.replace("KIND", "scalar_t")
    report = checked(text, torch.randn(4, 5), torch.randn(3))
    assert report.ok and "float64: the kernel refuses it (RuntimeError: expected scalar type Float" in str(report), (
        report
    )


def test_strides_that_it_asks_for_are_those_of_the_input() -> None:
    """Nothing is copied before a text that asks for strides: it is wrong for the very example, and says so."""
    report = checked(STRIDES.replace("STEP", ""), torch.randn(6, 9).t())
    assert "right for contiguous inputs, wrong when x is transposed: it ignores strides" in hints_of(report)[-1], report
    assert "made contiguous" not in str(report)


@pytest.mark.full
def test_strides_that_it_asks_for_may_be_right() -> None:
    """With both it is right in all layouts."""
    report = checked(STRIDES.replace("STEP", "* x.stride(1)"), torch.randn(6, 9))
    assert report.ok and "made contiguous" not in str(report), report


@pytest.mark.full
def test_an_example_that_is_strided_is_not_copied() -> None:
    """A text that goes by memory alone is wrong there, as it is with plain load_inline."""
    text = STRIDES.replace("i * x.stride(0) + j STEP", "i * x.size(1) + j")
    assert not checked(text, torch.randn(6, 9).t()).ok and checked(text, torch.randn(6, 9)).ok


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        (ROWS.replace("KIND", "int"), "rows", "line 4 takes idx.data_ptr<int>, and it is given int64_t"),
        pytest.param(REFUSES, "twice", "line 3 of the text raises it", marks=pytest.mark.full),
    ],
)
def test_what_raises_has_its_line(text: str, name: str, says: str) -> None:
    """A pointer of another dtype, and words of the text's own."""
    inputs = [torch.randn(6, 9), torch.randint(0, 6, (4,))][: 2 if name == "rows" else 1]
    assert says in hints_of(checked(text, *inputs, name=name))


@pytest.mark.full
def test_a_backward_that_takes_the_square_is_not_begun() -> None:
    """It is right, and what would take till the time-out is left out."""
    report = checked(GROWS, torch.randn(13))
    assert report.ok and "the backward would take too long; it took" in str(report), report
