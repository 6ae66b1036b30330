"""Tests of what a check says of the commonest first kernel: pointers to float, no dispatch on the dtype, no backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.report import Report, Section
from lltm_inline.compiling.compiler import build
from lltm_inline.model.registry import Kernel
from tests.planted.axpy import PLANTED, kernel_of
from tests.texts import bodies

pytestmark = pytest.mark.usefixtures("quick_compiler")

TEXTS = bodies(__file__)
FORWARD = TEXTS["forward"]
BACKWARD = TEXTS["backward"]
#: It takes pointers in backward alone, and those to double.
DOUBLE_BACKWARD = BACKWARD.replace(
    "  at::Tensor d_x,", "  if (d_z.numel()) d_z.const_data_ptr<double>();\n  at::Tensor d_x,"
)
KERNELS = {
    "float": Kernel("axpy/float", cpp=FORWARD),
    "double": Kernel("axpy/double", cpp=FORWARD.replace("float", "double")),
    "dispatched": Kernel(
        "axpy/dispatched",
        cpp=FORWARD.replace("float", "double")
        .replace("empty_cpu_dispatch", "empty_like")
        .replace("at::cpu::empty(x.sizes(), x.options())", "at::empty_like(x)"),
    ),
    "with_backward": Kernel("axpy/with_backward", cpp=FORWARD + BACKWARD),
    "double_in_backward": Kernel(
        "axpy/double_in_backward",
        cpp="#include <ATen/ATen.h>\n" + li.registry["axpy/cpp"].cpp.partition("std::tuple")[0] + DOUBLE_BACKWARD,
        params={"A": 2, "GRAIN": 32768},
    ),
}
AROUND = (
    "the text is written for {0}, and must compute in float and in double: wrap the loop in "
    'AT_DISPATCH_FLOATING_TYPES({1}.scalar_type(), "axpy", [&] {{ ... }}), and write scalar_t for {0} in it'
)
NO_BACKWARD = "the text has no backward, and autograd does not see into a loop"


@pytest.fixture(scope="module")
def reports() -> Iterator[dict[str, Report]]:
    """Check each of the kernels once."""
    build(list(KERNELS.values()), progress=False)
    yield {name: li.check(kernel, progress=False) for name, kernel in KERNELS.items()}


def hints(report: Report, quantity: str) -> tuple[str, ...]:
    """Return the hints of the one thing that `parity` says of a quantity."""
    (found,) = [finding for finding in report["parity"].findings if finding.quantity == quantity]
    return found.hints


def of_python(function: Any) -> Report:
    """Check a kernel in Python."""
    return li.check(Kernel("axpy/by_hand", python=function), progress=False, trust=True)


@pytest.mark.parametrize(("name", "other"), [("float", "double"), ("double", "float")])
def test_text_for_one_dtype_is_told_how_to_take_both(reports: dict[str, Report], name: str, other: str) -> None:
    """Pointers to one dtype get the one hint that cures it, with the names of the op."""
    report = reports[name]
    assert hints(report, "forward") == (AROUND.format(name, "x"),)
    assert f"expected scalar type {name.title()} but found {other.title()}" in report["parity"].findings[0].text


def test_backward_for_one_dtype_is_told_of_its_own_tensor(reports: dict[str, Report]) -> None:
    """In backward the dtype is that of the incoming gradient; float64, which was tried, is right."""
    found = hints(reports["double_in_backward"], "backward")
    assert found == (AROUND.format("double", "d_z"), "only in float32; float64 is right")


def test_other_dtype_is_called_right_where_it_is(reports: dict[str, Report]) -> None:
    """A text for float that is right in float32, gradients and all, is said to be so."""
    assert hints(reports["with_backward"], "forward") == (
        AROUND.format("float", "x"),
        "only in float64; float32 is right",
    )


@pytest.mark.parametrize("name", ["float", "double"])
def test_no_dtype_is_called_right_that_was_not_tried_or_is_wrong(reports: dict[str, Report], name: str) -> None:
    """Of forward that raises in one dtype, and gives no gradients in the other, neither dtype is called right."""
    assert "is right" not in str(reports[name])


def test_wrong_in_the_other_dtype_is_not_right() -> None:
    """Forward raises in float64, and z is wrong in float32, for strided inputs alone or for all."""

    def everywhere(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.dtype == torch.float64:
            raise RuntimeError("expected scalar type Float but found Double")
        return 3 * x + y

    def strided(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return everywhere(x, y) if x.dtype == torch.float64 or not x.is_contiguous() else 2 * x + y

    for function in (everywhere, strided):
        report = of_python(function)
        assert {finding.quantity for finding in report["parity"].findings} >= {"forward", "z"}
        assert hints(report, "forward") == (), "no text, and float32 is not right"
        assert "float32 is right" not in str(report) and "float64 is right" not in str(report)


def test_size_at_which_forward_raises_is_not_right() -> None:
    """Z is wrong below 16 elements, and there is none above: no size is called right."""

    def small_only(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.numel() >= 16:
            raise RuntimeError("too large")
        return 3 * x + y

    report = of_python(small_only)
    assert {finding.quantity for finding in report["parity"].findings} >= {"forward", "z", "d_x"}
    assert "right for" not in str(report)


@pytest.mark.parametrize("name", ["float", "double"])
def test_missing_gradients_are_laid_to_the_missing_backward(reports: dict[str, Report], name: str) -> None:
    """A loop without a backward: each missing gradient says why, and nothing else."""
    for quantity in ("d_x", "d_y"):
        (hint,) = hints(reports[name], quantity)
        assert hint.startswith(NO_BACKWARD)


def test_gradient_that_a_backward_leaves_out_has_another_reason() -> None:
    """A kernel with a backward, or in Python, is not told that it has none."""
    text = (FORWARD + BACKWARD).replace("if (wanted[1]) d_y = d_z;", "")
    for kernel in (Kernel("axpy/one", cpp=text), Kernel("axpy/cut", python=lambda x, y: 2 * x + y.detach())):
        report = li.check(kernel, progress=False)
        assert "d_y is missing" in str(report) and NO_BACKWARD not in str(report)


def test_opcheck_does_not_tell_again_what_forward_raises(reports: dict[str, Report]) -> None:
    """Where forward raises in float64, opcheck has nothing to look at, and says so."""
    section = reports["float"]["opcheck"]
    assert (section.cases, section.findings, section.skipped) == (0, (), ("forward raises (see parity)",))
    assert not section.ok


def test_opcheck_does_not_tell_again_that_there_is_no_backward(reports: dict[str, Report]) -> None:
    """What tracers say of a loop over memory that they do not have follows from the missing backward."""
    for name in ("double", "dispatched"):  # at::cpu::empty gives a tracer memory, and at::empty_like none
        section = reports[name]["opcheck"]
        assert not section.findings and section.cases > 0
        why = {
            "double": "it fails because the text has no backward (see parity)",
            "dispatched": "what the kernel computes is wrong (see parity)",  # it ignores strides
        }[name]
        assert section.skipped == (f"test_aot_dispatch_dynamic: {why}",)


def test_opcheck_does_not_tell_again_what_backward_raises() -> None:
    """An exception of backward is one finding of parity, and none of opcheck."""
    text = (KERNELS["double_in_backward"].cpp).replace("const_data_ptr<double>", "const_data_ptr<int>")
    report = li.check(KERNELS["double_in_backward"].replace(cpp=text), progress=False)
    assert "backward raises RuntimeError: expected scalar type Int but found Double" in str(report)
    assert not report["opcheck"].findings and "it fails because backward raises" in str(report)


def test_gradient_that_is_the_incoming_one_gets_memory_of_its_own() -> None:
    """`d_y = d_z` in the text is no error: what leaves the operator is a copy, so that torch.compile may write over d_z."""
    function = li.load(KERNELS["with_backward"], trust=True)
    x = torch.ones(5)
    for d_z in (torch.ones(5), torch.ones(1).expand(5)):
        gradients = function.backward((d_z,), (x, x), function.forward(x, x), (True, True))
        assert [gradient.tolist() for gradient in gradients if gradient is not None] == [[2.0] * 5, [1.0] * 5]
        assert all(g is not None and g.data_ptr() != d_z.data_ptr() for g in gradients)


def test_one_case_is_no_plural(reports: dict[str, Report]) -> None:
    """`in 1 case`, and `in 2 cases`."""
    assert "in 1 case\n" in str(reports["float"]) and "in 1 cases" not in str(reports["float"])
    assert Report("axpy/x", "cpu", (Section("parity", 1),)).headline == "'axpy/x' is right in 1 case"
    assert Report("axpy/x", "cpu", (Section("parity", 2),)).headline == "'axpy/x' is right in 2 cases"


def test_planted_dtype_error_keeps_its_hint() -> None:
    """Float arithmetic inside double is wrong in one dtype alone, and still said to be."""
    report = li.check(kernel_of(PLANTED["float_inside_double"]), progress=False)
    assert "only in float64; float32 is right" in str(report)
