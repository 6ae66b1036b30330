"""Tests of check and gradcheck: right kernels pass, every planted error is found for its own reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import lltm_inline.ops  # noqa: F401  (fills the registry)
from lltm_inline.checking import opcheck as opcheck_module
from lltm_inline.checking.check import check, gradcheck
from lltm_inline.checking.report import Finding, Report, Section
from lltm_inline.compiling.compiler import build
from lltm_inline.errors import BuildError, InputError, UnknownKernelError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.compare import Tolerance, compare, hints
from tests import tiny
from tests.planted import PLANTED, Planted, hand
from tests.planted.kernels import plain
from tests.quick import QUICK

SECTIONS = ["interface", "parity", "purity", "gradcheck", "safety"]
WITH_OPCHECK = ["interface", "parity", "purity", "gradcheck", "opcheck", "safety"]


def sections_of(kernel: Kernel) -> list[str]:
    """List the sections of a kernel's report: only what has a text is an operator."""
    return SECTIONS if kernel.python is not None or kernel.binding != "torch_library" else WITH_OPCHECK


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Build all planted kernels at once, several compilers beside each other."""
    kernels = [planted.kernel() for planted in PLANTED.values() if planted.python is None]
    build([plain(), *kernels], progress=False, compiler=QUICK)


@pytest.fixture
def op() -> Iterator[Op]:
    """Register a small op for the length of one test: y = x * w + b with an optional b, and a number."""

    def reference(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, c: float = 2.0) -> torch.Tensor:
        return x * w * c if b is None else x * w * c + b

    def inputs(randn: Any, N: int) -> tuple[Any, ...]:
        return randn(N), randn(N), randn(N), 3.0

    op = Op(
        "small", "(Tensor x, Tensor w, Tensor? b, float c=2) -> Tensor y", reference, dict.fromkeys("xwby", "N"), inputs
    )
    registry.register(op)
    yield op
    for table in (registry._ops, registry._first, registry._current):
        for name in [name for name in table if name.partition("/")[0] == "small"]:
            del table[name]


def finding(report: Report, section: str, quantity: str) -> Finding:
    """Return the one finding of a section about a quantity."""
    found = [finding for finding in report[section].findings if finding.quantity == quantity]
    assert found, f"no finding about {quantity} in {section}:\n{report}"
    return found[0]


@pytest.mark.parametrize("planted", PLANTED.values(), ids=list(PLANTED))
def test_planted_error_is_found_for_its_own_reason(planted: Planted) -> None:
    """Each planted kernel is rejected, in the section, for the quantity and with the words that name its defect."""
    report = check(planted.kernel(), progress=False, compiler=QUICK)
    assert not report.ok
    assert [section.name for section in report.sections] == sections_of(planted.kernel())
    quantity = planted.quantity
    found = [str(f) for f in report[planted.section].findings if f.quantity == quantity]
    assert any(all(text in one for text in planted.says) for one in found), f"want {planted.says} in\n{report}"


#: Keeps something for backward, which is not among what the op names.
KEEPS = """
#include <ATen/ATen.h>

std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x) {
  return {x * 2, KEPT};
}
at::Tensor backward(const at::Tensor& d_y, const at::Tensor& kept, std::array<bool, 1> wanted) {
  return wanted[0] ? d_y * 2 : at::Tensor();
}
"""


def test_only_what_a_tracer_sees_is_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit within the text is not traced once more; what is kept for backward is seen, and so is a text without a backward."""
    tests: list[str] = []

    def opcheck(*given: Any, test_utils: list[str], **named: Any) -> Any:
        tests.extend(test_utils)
        return original(*given, test_utils=test_utils, **named)

    original = torch.library.opcheck
    monkeypatch.setattr(torch.library, "opcheck", opcheck)
    monkeypatch.setattr(opcheck_module, "_traced", set())

    def traced(text: str) -> bool:
        tests.clear()
        report = check(tiny.kernel(text=text, api="aten"), progress=False, compiler=QUICK, trust=True)
        assert report.ok, str(report)
        assert len(report["opcheck"].skipped) == 0 and report["opcheck"].cases == 8
        return "test_aot_dispatch_dynamic" in tests

    tiny.register()
    kept = "at::zeros({x.size(0)}, x.options())"
    assert traced(KEEPS.replace("KEPT", kept))
    assert not traced(KEEPS.replace("KEPT", kept))
    assert not traced(KEEPS.replace("KEPT", kept.replace("zeros", "ones")).replace("x * 2", "x + x"))
    for other in (
        kept.replace(")}", ") + 1}"),
        f"{kept}.to(at::kFloat)",
        f"{kept}.unsqueeze(0)",
    ):
        assert traced(KEEPS.replace("KEPT", other)), other
    composed = "#include <ATen/ATen.h>\nat::Tensor forward(const at::Tensor& x) {\n  return x * 2;\n}\n"
    assert traced(composed) and traced(composed.replace("x * 2", "x + x"))


@pytest.mark.parametrize("name", ["lltm/python", "lltm/aten", "lltm/fused", "lltm/stable", "lltm/onednn"])
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes every section, and every section looked at something."""
    report = check(name, progress=False)
    assert report.ok, str(report)
    assert [section.name for section in report.sections] == sections_of(registry[name])
    assert all(section.cases > 0 and not section.skipped for section in report.sections)
    assert all(
        cell == "ok"
        for row in report.matrix.values()
        for column, cell in row.items()
        if (column, cell) != ("gradcheck", "")
    )


def test_bases_of_the_planted_kernels_are_right() -> None:
    """The kernels into which errors are planted are right, so that each is rejected for the planted error alone."""
    for kernel in (plain(), Kernel("lltm/hand", python=hand.right)):
        report = check(kernel, progress=False, compiler=QUICK)
        assert report.ok, str(report)


def test_finding_reads_like_the_style_guide_says() -> None:
    """One sentence holds quantity, shape, dtype, how many, where, the part's name, the worst element, got and want."""
    planted = PLANTED["one_gate_scaled"]
    text = str(finding(check(planted.kernel(), progress=False, compiler=QUICK), "parity", "d_weights"))
    first, second, *_ = text.splitlines()
    start = "'lltm/one_gate_scaled' d_weights (15, 22) float64 differs in 110 of 330 elements, all in rows 5:10 = output gate; worst ["
    assert first.startswith(start)
    assert ": got " in first and ", want " in first
    assert second.strip() == "at B=3, F=17, S=5, float64; smallest failing size: B=1, F=1, S=1"


def test_gradients_that_follow_are_told_as_one(op: Op) -> None:
    """Gradients that are wrong where an output is, and of which no more is known, are one finding in words; each is there by itself."""

    def squared(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, c: float = 2.0) -> torch.Tensor:
        return op.reference(x, w, b, c) ** 2 + x.exp() * w.cos()

    report = check(Kernel("small/squared", python=squared), trust=True, progress=False)
    assert {"y", "d_x", "d_w"} <= {one.quantity for one in report.findings if one.section == "parity"}
    told = [one for one in report.told if one.section == "parity"]
    assert [one.quantity for one in told] == ["y", "d_x, d_w, d_b"]
    assert told[1].text == "d_x, d_w, d_b differ, too" and told[1].hints == (
        "may follow from the wrong y: mend that first",
    )
    assert str(report).count("d_x, d_w, d_b differ, too") == 1 and " d_w (" not in str(report)


def test_matrix_tells_the_failing_cases_from_the_right_ones() -> None:
    """The cells of one wrong quantity are red where it fails, all others say ok."""
    matrix = check(PLANTED["wrong_for_one_row"].kernel(), progress=False, compiler=QUICK).matrix
    wrong = {
        (quantity, column) for quantity, row in matrix.items() for column, cell in row.items() if cell not in ("ok", "")
    }
    assert wrong == {("d_bias", column) for column in ("1,1,1", "one of 1", "strided", "many")}


def test_gradcheck_is_the_gradient_section_alone() -> None:
    """gradcheck finds a wrong gradient by name and leaves everything else to check."""
    report = gradcheck(PLANTED["wrong_sign"].kernel(), progress=False, compiler=QUICK)
    assert [section.name for section in report.sections] == ["gradcheck"]
    assert {finding.quantity for finding in report.findings} == {"d_old_cell"}
    assert gradcheck("lltm/python", progress=False).ok


def test_sizes_of_the_caller_replace_the_corner_sizes() -> None:
    """A kernel that is wrong for B = 1 only passes when it is not asked about B = 1."""
    kernel = PLANTED["wrong_for_one_row"].kernel()
    assert check(kernel, sizes=[(4, 3, 8)], progress=False, compiler=QUICK).ok
    report = check(kernel, sizes=[(4, 3, 8), (1, 3, 8)], progress=False, compiler=QUICK)
    assert finding(report, "parity", "d_bias").case.startswith("B=1, F=3, S=8")


def test_layouts_are_tried_where_they_tell_something() -> None:
    """Of the caller's sizes the one at which a stride matters is taken for layouts, wherever it stands in the list."""
    report = check(PLANTED["ignores_strides"].kernel(), sizes=[(1, 1, 1), (4, 3, 8)], progress=False, compiler=QUICK)
    assert finding(report, "parity", "new_cell").case.startswith("B=4, F=3, S=8")


def test_kernel_that_does_not_compile_raises() -> None:
    """A text that does not compile is no verdict: BuildError."""
    broken = Kernel(
        "lltm/broken", cpp=plain().cpp.replace("std::tanh(cell[at])", "std::tanhh(cell[at])"), saves=plain().saves
    )
    with pytest.raises(BuildError, match="tanhh"):
        check(broken, progress=False, compiler=QUICK)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"device": "tpu"}, InputError, "no device 'tpu'"),
        ({"sizes": []}, InputError, "sizes is empty"),
        ({"sizes": [(1, 2)]}, InputError, "B, F, S"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    """Device and sizes are looked at before anything runs."""
    with pytest.raises(error, match=words):
        check("lltm/python", progress=False, **arguments)
    with pytest.raises(UnknownKernelError, match="lltm/pythn"):
        check("lltm/pythn", progress=False)


def test_torch_is_left_as_it_was() -> None:
    """The NaN in fresh memory is gone after a check, also after one that raises."""
    check("lltm/python", sizes=[(1, 1, 1)], progress=False)
    assert not torch.are_deterministic_algorithms_enabled()


def test_kernel_that_raises_everywhere_is_a_finding_and_not_an_exception() -> None:
    """Whatever forward raises comes back in the report, once, with its type and text."""

    def raises(*inputs: torch.Tensor) -> None:
        raise ZeroDivisionError("division by zero")

    report = check(Kernel("lltm/raises", python=raises), progress=False)
    assert "forward raises ZeroDivisionError: division by zero" in finding(report, "parity", "forward").text
    assert len(report["parity"].findings) == 1
    assert set(report.matrix["new_h"].values()) - {""} == {"raises"}


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("race: y[0] is read at line 3", "race"),
        ("out of bounds: y[9]", "out of bounds"),
        ("divergent barrier: 3 threads", "divergent barrier"),
        ("a race: no", "raises"),
    ],
)
def test_what_a_device_sees_is_the_word_of_its_cell(said: str, word: str) -> None:
    """What `cuda-cpu` reports is named in the matrix, in place of that forward raised."""

    def raises(*inputs: torch.Tensor) -> None:
        raise RuntimeError(said)

    report = check(Kernel("lltm/raises", python=raises), sizes=[(3, 5, 2)], progress=False)
    assert set(report.matrix["new_h"].values()) - {""} == {word}


def test_a_value_that_a_call_does_not_bear_is_no_matter_of_layout() -> None:
    """Of inputs that are all 1 and expanded it is told that they are 1, without a cure for numbers that overflow."""

    reference = registry.ops["lltm"].reference

    def wrong(*inputs: torch.Tensor) -> Any:
        if all((one == 1).all() for one in inputs):
            raise RuntimeError("out of bounds: out[10]")
        return reference(*inputs)

    report = check(Kernel("lltm/ones", python=wrong), progress=False)
    assert finding(report, "parity", "forward").hints == ("right for ordinary inputs, wrong with inputs all 1",)


def test_backward_that_raises_is_a_finding() -> None:
    """The bridge refuses a gradient of the wrong shape; that shows as a raising backward beside the shape itself."""
    report = check(PLANTED["bias_gradient_keeps_a_dimension"].kernel(), progress=False, compiler=QUICK)
    assert "backward raises RuntimeError" in finding(report, "parity", "backward").text


def test_what_returns_no_tensors_is_a_finding() -> None:
    """None, a number or a tuple of them in place of tensors is said to be that."""
    report = check(Kernel("lltm/none", python=lambda *inputs: (None, 3.0)), progress=False)
    assert finding(report, "parity", "new_h").text == "new_h is missing (None or undefined), want (3, 5)"
    assert finding(report, "interface", "new_cell").text == "new_cell is a float, want a Tensor"


def test_op_with_optional_input_number_and_one_letter(op: Op) -> None:
    """Nothing in a check is about the LLTM: optional inputs are left out in turn, numbers are passed through."""
    assert check("small/python", progress=False).ok

    def forgets(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, c: float = 2.0) -> torch.Tensor:
        return x * w * c + (x if b is None else b)

    report = check(Kernel("small/forgets", python=forgets), progress=False)
    assert "without b" in finding(report, "parity", "y").case


def test_report_is_plain_data_and_shows_itself() -> None:
    """A report goes to JSON whole, and reads as text and as a table in which wrong cells are marked."""
    report = check(PLANTED["wrong_sign"].kernel(), progress=False, compiler=QUICK)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is False and [section["name"] for section in data["sections"]] == WITH_OPCHECK
    assert data["matrix"]["d_old_cell"]["3,17,5"] == "15/15"
    text = str(report)
    assert (
        text.startswith("check of lltm/wrong_sign on cpu: WRONG")
        and max(map(len, text.split("\n\n")[0].splitlines())) <= 100
    )
    assert text.count("worst") == 1, "gradcheck tells again what parity told"
    html = report._repr_html_()
    assert "wrong sign" in html and html.count("all</td>") == 1 and "<script" not in html


def test_report_that_saw_nothing_is_not_ok() -> None:
    """A check fails closed: no sections, or a section without cases, is not a pass."""
    assert not Report("lltm/x", "cpu", ()).ok
    assert not Report("lltm/x", "cpu", (Section("parity", 0),)).ok
    assert "nothing" in Report("lltm/x", "cpu", (Section("parity", 0),)).headline
    assert Report("lltm/x", "cpu", (Section("parity", 1),)).ok
    with pytest.raises(KeyError, match="no section 'speed'; this report has parity"):
        Report("lltm/x", "cpu", (Section("parity", 1),))["speed"]


WANT = torch.tensor([[1.0, 2.0, 4.0], [-3.0, 5.0, 7.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (WANT * 3, "got is 3 times want throughout"),
        (WANT - 0.5, "got is want -0.5 throughout"),
        (torch.where(WANT > 3, WANT * 3, WANT), "got is 3 times want wherever it is wrong"),
        (torch.where(WANT > 3, WANT + 2, WANT), "got is want +2 wherever it is wrong"),
        (-WANT, "wrong sign"),
        (WANT * 0, "it is zero everywhere"),
        (WANT.flip(0), "upper and lower are swapped"),
        (WANT.t().reshape(2, 3), "it is transposed"),
        (WANT[:, [1, 2, 0]], "the right values stand in the wrong places"),
        (WANT * (1 + 3e-8), "looks like float32 arithmetic: error 3e-08 relative in float64"),
        (WANT.exp(), "it equals what d_other should be"),
        (WANT / 0, "6 of them are NaN or infinite: an overflow, a division by zero, memory"),
        (WANT**3, ""),
        (WANT + 5e-5 * torch.tensor([[1, -1, 1], [1, -1, 1]]), ""),
    ],
)
def test_pattern_of_an_error_hints_at_its_cause(got: torch.Tensor, words: str) -> None:
    """Each pattern gets its own hint, and an error without a pattern gets none."""
    mismatch = compare("d_w", got, WANT, torch.float64, Tolerance(1e-12, 1e-12), ("upper", "lower"))
    assert mismatch is not None
    found = hints(mismatch, {"d_other": WANT.exp()})
    assert (words in found[0]) if words else not found, found


def test_swapped_is_told_from_made_alike() -> None:
    """Two that hold what the other should are swapped; one that was made like another, which is right, is not."""
    other, exact = WANT.exp(), Tolerance(1e-12, 1e-12)
    here, there = (
        compare(name, got, want, torch.float64, exact) for name, got, want in (("a", other, WANT), ("b", WANT, other))
    )
    assert here is not None and there is not None
    assert hints(here, {"b": other}) == ["it equals what b should be"]
    assert hints(here, {"b": other}, {"a": here}) == ["it equals what b should be"]
    assert hints(here, {"b": other}, {"a": here, "b": there}) == ["it equals what b should be: the two are swapped"]


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        (torch.tensor([3, 6, 9]), torch.tensor([1, 2, 3]), ["got is 3 times want throughout"]),
        (torch.tensor([True, True]), torch.tensor([True, False]), []),
    ],
    ids=["counts", "flags"],
)
def test_whole_numbers_have_patterns_too(got: torch.Tensor, want: torch.Tensor, words: list[str]) -> None:
    """Outputs that are counts, indices or flags are reported as wrong as any others."""
    mismatch = compare("i", got, want, got.dtype, Tolerance(1e-12, 1e-12))
    assert mismatch is not None and "differs in" in mismatch.text
    assert hints(mismatch, {}) == words


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([(0, 0), (2, 1)], "in 2 of 24 elements, all in the input gate and output gate, columns 0:2; worst [2, 1]"),
        (
            [(4, 3)],
            "in 1 of 24 elements, in row 4 (in the candidate cell), column 3 (the last of 4); worst [4, 3]",
        ),
        ([(r, c) for r in (2, 3) for c in range(4)], "in 8 of 24 elements, all in rows 2:4 = output gate; worst"),
        ([(r, c) for r in range(6) for c in range(4)], "in all 24 elements; worst"),
        ([(r, 2) for r in range(6)], "in 6 of 24 elements, all in column 2; worst"),
    ],
)
def test_place_of_an_error_is_named(wrong: list[tuple[int, int]], words: str) -> None:
    """Rows, parts and columns are named where they narrow the error down, and only there."""
    want = torch.zeros(6, 4, dtype=torch.float64)
    got = want.clone()
    for place in wrong:
        got[place] = 1 + place[0]
    parts = ("input gate", "output gate", "candidate cell")
    mismatch = compare("d_w", got, want, torch.float64, Tolerance(0, 1e-12), parts)
    assert mismatch is not None and words in mismatch.text, mismatch and mismatch.text


def test_equal_infinities_and_nans_are_right() -> None:
    """Where the reference overflows, so may the kernel."""
    want = torch.tensor([torch.inf, torch.nan, 1.0], dtype=torch.float64)
    assert compare("y", want.clone(), want, torch.float64, Tolerance(1e-12, 1e-12)) is None
    assert compare("y", want.flip(0), want, torch.float64, Tolerance(1e-12, 1e-12)) is not None
