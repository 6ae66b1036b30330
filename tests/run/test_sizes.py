"""Sizes: shapes of any rank, extents that subtract, sizes at which gradients are checked, and sizes that the reference refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.check import check
from lltm_inline.errors import DefinitionError, InputError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.cases.case import Case, prime_size
from lltm_inline.run.cases.drawing import make_inputs
from lltm_inline.run.cases.tried import VIEWS, layout_cases, size_cases
from lltm_inline.run.function import Function
from tests.texts import bodies
from tests.tiny import forget

pytestmark = pytest.mark.usefixtures("quick_compiler")

HEADER = "#include <ATen/ATen.h>\nusing at::Tensor;\n"

TEXTS = bodies(__file__)
# z = k x y for x and y of one shape, k a single number in a tensor.
ANY = HEADER + TEXTS["any"]
SCALED = HEADER + TEXTS["scaled"]
# A filter laid over every place of a signal, with a bias for each place.
SLIDING = HEADER + TEXTS["sliding"]
# The variance, which one value has not.
SPREAD = HEADER + TEXTS["spread"]

KERNELS = {
    "any": Kernel("alike/any", cpp=ANY, saves=("x", "y")),
    "first_axis": Kernel("alike/first_axis", cpp=ANY.replace("i < x.numel()", "i < x.size(0)"), saves=("x", "y")),
    "flat": Kernel("alike/flat", cpp=ANY.replace("at::empty(x.sizes(), ", "at::empty({x.numel()}, "), saves=("x", "y")),
    "axes": Kernel(
        "alike/axes",
        cpp=ANY.replace("i < x.numel()", "i < (x.dim() < 4 ? x.numel() : x.size(0) * x.size(1))"),
        saves=("x", "y"),
    ),
    "scaled": Kernel("scaled/aten", cpp=SCALED),
    "sliding": Kernel("sliding/aten", cpp=SLIDING),
    "strict": Kernel("spread/strict", cpp=SPREAD, params={"LEAST": 1}),
    "lenient": Kernel("spread/lenient", cpp=SPREAD, params={"LEAST": 0}),
    "stricter": Kernel("spread/stricter", cpp=SPREAD, params={"LEAST": 2}),
}


def spread(x: torch.Tensor) -> torch.Tensor:
    """Refuse what has no variance."""
    if x.numel() < 2:
        raise ValueError(f"spread: x has {x.numel()} elements, want two or more")
    return x.var()


def sliding(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
    """Refuse empty filters."""
    if not w.numel():
        raise ValueError("sliding: w is empty")
    y = x.unfold(0, w.numel(), 1) @ w
    return y if b is None else y + b


def op(name: str, schema: str, shapes: dict[str, str], **fields: Any) -> Op:
    """Make an op whose reference is never called."""
    return Op(name, schema, fields.pop("reference", lambda *inputs: inputs), shapes, **fields)


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> Iterator[None]:
    """Register four ops and build everything at once."""
    ops = [
        Op("alike", "(Tensor x, Tensor y) -> Tensor z", lambda x, y: x * y, dict.fromkeys("xyz", "...")),
        Op(
            "scaled",
            "(Tensor w, Tensor x, Tensor? y=None) -> Tensor z",
            lambda w, x, y=None: w.sum() * x + (0 if y is None else y),
            {"w": "K", "x": "...", "y": "...", "z": "..."},
        ),
        Op(
            "sliding",
            "(Tensor x, Tensor w, Tensor? b=None) -> Tensor y",
            sliding,
            {"x": "H", "w": "K", "b": "H-K+1", "y": "H-K+1"},
            check_size=(7, 3),
        ),
        Op("spread", "(Tensor x) -> Tensor y", spread, {"x": "N", "y": ""}),
    ]
    for one in ops:
        registry.register(one)
    li.build(list(KERNELS.values()), progress=False)
    yield
    for one in ops:
        forget(one.name)


def load(name: str) -> Function:
    """Load a kernel of the table above."""
    return li.load(KERNELS[name], progress=False)


# Shapes of any rank


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (3, 5), (2, 0, 3), (2, 3, 1, 4), (1,) * 7])
def test_kernel_of_any_rank(shape: tuple[int, ...]) -> None:
    """One text serves every shape, forward and backward, and the shape of the results is that of the inputs."""
    x, y = (torch.randn(shape, dtype=torch.float64).requires_grad_() for _ in "xy")
    z = load("any")(x, y)
    torch.testing.assert_close(z, x * y)
    torch.testing.assert_close(torch.autograd.grad(z.sum(), [x, y]), (y, x))


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ((3, 5), (3, 4), r"y has shape \(3, 4\), want that of x, \(3, 5\)"),
        ((3, 5), (5,), r"y has shape \(5\), want that of x, \(3, 5\)"),
        ((3, 5), (15,), r"y has shape \(15\), want that of x, \(3, 5\)"),
        ((3, 5), (3, 5, 1), r"y has shape \(3, 5, 1\), want that of x, \(3, 5\)"),
        ((3, 5), (1, 5), r"y has shape \(1, 5\), want that of x, \(3, 5\)"),
        ((3, 5), (), r"y has shape \(\), want that of x, \(3, 5\)"),
        ((), (1,), r"y has shape \(1\), want that of x, \(\)"),
        ((0, 3), (3, 0), r"y has shape \(3, 0\), want that of x, \(0, 3\)"),
    ],
)
def test_shapes_that_differ_are_refused(one: tuple[int, ...], other: tuple[int, ...], message: str) -> None:
    """There is no broadcasting: the message holds both shapes, as written in C++, on the CPU and in a trace."""
    for device in ("cpu", "meta"):
        with pytest.raises(RuntimeError, match=rf"^alike/any: {message}$"):
            load("any")(torch.zeros(one, device=device), torch.zeros(other, device=device))


def test_any_rank_beside_letters_and_optional() -> None:
    """A tensor of letters stands beside those of any shape; one that may be missing is compared when it is there."""
    function = load("scaled")
    w, x = torch.ones(4), torch.ones(2, 3)
    assert function(w, x).sum() == 24 and function(w, x, x).sum() == 30
    with pytest.raises(RuntimeError, match=r"^scaled/aten: y has shape \(3, 2\), want that of x, \(2, 3\)$"):
        function(w, x, x.t())
    with pytest.raises(RuntimeError, match=r"^scaled/aten: w has shape \(1, 4\), want \(K\)$"):
        function(w[None], x)
    assert registry.ops["scaled"].letters == ("K", "N")
    assert registry.ops["scaled"].any_rank == ("x", "y", "z") and registry.ops["scaled"].any_rank_inputs == ("x", "y")


def test_check_runs_at_every_rank() -> None:
    """A right kernel is right at ranks 0 to 6, in both dtypes; there is a column for them."""
    for name in ("any", "scaled"):
        report = check(KERNELS[name], progress=False)
        assert report.ok, str(report)
        assert all(row["ranks"] == "ok" for row in report.matrix.values())
    cases = [case for case in size_cases(registry.ops["alike"], None) if case.group == "ranks"]
    assert {case.view for case in cases} == set(VIEWS) and len(cases) == 2 * len(VIEWS) and max(map(len, VIEWS)) == 6
    assert "tensors of shape (2, 3, 5)" in " ".join(case.describe(registry.ops["alike"]) for case in cases)


@pytest.mark.parametrize(
    ("name", "right", "words"),
    [
        ("first_axis", "23", "tensors of shape"),
        ("flat", "23", "z has shape (1,), want ()"),
        ("axes", "strided", "tensors of shape (2, 1, 3, 4)"),
    ],
)
def test_kernel_that_is_right_for_one_axis_is_reported(name: str, right: str, words: str) -> None:
    """Counting the first axis only, a flat result, forgetting the fourth axis: right for one axis, and found with more."""
    report = check(KERNELS[name], progress=False)
    assert not report.ok and words in str(report), str(report)
    assert report.matrix["z"][right] == "ok" and report.matrix["z"]["ranks"] != "ok"


def test_layouts_have_two_axes() -> None:
    """One axis cannot be transposed or padded: the cases about layout have two."""
    any_rank = registry.ops["alike"]
    cases = layout_cases(any_rank, (19,))
    assert {case.view for case in cases} == {(5, 19)} and {case.size for case in cases} == {(95,)}
    assert all(value.shape == (5, 19) for value in make_inputs(any_rank, cases[0]))


# Extents that subtract, and the size for gradients


def test_extents_that_subtract() -> None:
    """An output is shorter than its input, and an input of such an extent is held to it, with letters and numbers."""
    function = load("sliding")
    x, w, b = (torch.randn(n, dtype=torch.float64).requires_grad_() for n in (7, 3, 5))
    torch.testing.assert_close(function(x, w, b), sliding(x, w, b))
    assert torch.autograd.gradcheck(function, (x, w, b))
    with pytest.raises(RuntimeError, match=r"^sliding/aten: b has shape \(7\), want \(H-K\+1\) = \(5\)$"):
        function(x, w, torch.zeros(7, dtype=torch.float64))


def test_check_size_is_the_base_of_all_sizes() -> None:
    """Gradients are checked at the op's own size, corner sizes follow from it, and none of them has a negative extent."""
    valid = registry.ops["sliding"]
    assert prime_size(valid) == (7, 3)
    sizes = {case.size for case in size_cases(valid, None)}
    assert {(7, 3), (1, 1), (7, 1), (7, 0)} <= sizes
    assert (0, 3) not in sizes and (1, 3) not in sizes
    assert all(H - K + 1 >= 0 for H, K in sizes)
    assert any(H > 100 for H, _ in sizes), "the long axis is tried around the widths of blocks"
    report = check(KERNELS["sliding"], progress=False)
    assert report.ok, str(report)
    assert "7,3" in report.matrix["y"]


def test_size_of_the_caller_that_has_no_shape() -> None:
    """A size at which an extent would be negative is refused before anything runs."""
    with pytest.raises(InputError, match=r"size \(2, 5\) of op 'sliding': a tensor would have a negative extent"):
        check(KERNELS["sliding"], sizes=[(7, 3), (2, 5)], progress=False)


def test_default_sizes_are_primes() -> None:
    """Without check_size gradients are checked at distinct odd primes."""
    assert prime_size(op("a", "(Tensor x) -> Tensor y", {"x": "B F S", "y": "B"})) == (3, 17, 5)
    assert prime_size(op("a", "(Tensor x) -> Tensor y", {"x": "...", "y": "..."})) == (23,)
    assert prime_size(op("a", "(Tensor x) -> Tensor y", {"x": "B F", "y": "B"}, check_size=(2, 4))) == (2, 4)


# Sizes that the reference refuses


def test_kernel_that_refuses_what_the_reference_refuses() -> None:
    """An error at such a size is the right answer."""
    report = check(KERNELS["strict"], progress=False)
    assert report.ok, str(report)


def test_kernel_that_answers_where_the_reference_refuses() -> None:
    """An answer at such a size is reported, with the size and what the reference says."""
    report = check(KERNELS["lenient"], progress=False)
    assert [finding.quantity for finding in report.findings] == ["forward"], str(report)
    (finding,) = report["interface"].findings
    assert finding.text == "forward computes at a size where an error is due"
    assert finding.case == "N=1, float64"
    assert "the reference refuses it (ValueError: spread: x has 1 elements, want two or more)" in str(finding)


def test_kernel_that_refuses_what_the_reference_answers() -> None:
    """An error at any other size is a wrong answer."""
    report = check(KERNELS["stricter"], sizes=[(2,), (3,)], progress=False)
    (finding,) = [finding for finding in report["parity"].findings if finding.quantity == "forward"]
    assert "forward raises ValueError: x has 2 elements, want two or more" in finding.text and "N=2" in finding.case


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
def test_python_kernel_that_answers_where_the_reference_refuses() -> None:
    """Kernels in Python are held to it too."""
    report = check(Kernel("spread/py", python=lambda x: x.var()), progress=False)
    assert any("where an error is due" in finding.text for finding in report.findings), str(report)


# Definitions


@pytest.mark.parametrize(
    ("schema", "shapes", "fields", "message"),
    [
        (
            "(Tensor x, Tensor w) -> Tensor y",
            {"x": "...", "w": "N", "y": "..."},
            {},
            r"op 'a': beside a shape '\.\.\.', N is its number of elements and no extent",
        ),
        (
            "(Tensor x) -> Tensor y",
            {"x": "B ...", "y": "B"},
            {},
            r"op 'a', shape of 'x': shape 'B \.\.\.': '\.\.\.' is a whole shape, of any rank, and stands alone",
        ),
        (
            "(Tensor x, Tensor? w) -> Tensor y",
            {"x": "H", "w": "K", "y": "H-K+1"},
            {},
            r"op 'a': shape \(K\) of 'w' has K, which no required input has as a whole extent",
        ),
        (
            "(Tensor x, Tensor? w) -> Tensor y",
            {"x": "H", "w": "...", "y": "H"},
            {},
            r"op 'a': shape \(\.\.\.\) of 'w' has N, which no required input has as a whole extent",
        ),
        (
            "(Tensor x) -> Tensor y",
            {"x": "H", "y": "..."},
            {},
            r"op 'a': shape \(\.\.\.\) of 'y' has N, which no required input has as a whole extent",
        ),
        (
            "(Tensor x, Tensor w) -> Tensor y",
            {"x": "H", "w": "K", "y": "H-K+1"},
            {"check_size": (3, 7)},
            r"op 'a': at size \(3, 7\) a tensor would have a negative extent",
        ),
        (
            "(Tensor x, Tensor w) -> Tensor y",
            {"x": "H", "w": "K", "y": "H-K+1"},
            {"benchmark_sizes": ((7, 3), (3, 7))},
            r"op 'a': at size \(3, 7\) a tensor would have a negative extent",
        ),
        ("(Tensor? x) -> Tensor y", {"x": "N", "y": "N"}, {}, "op 'a' takes no Tensor"),
        (
            "(Tensor x) -> Tensor y",
            {"x": "2H", "y": "2H"},
            {},
            "no tensor has H as a whole extent, so it cannot be told from the inputs",
        ),
        (
            "(Tensor x) -> Tensor y",
            {"x": "H"},
            {},
            r"op 'a': shapes are given for \['x'\], but the schema's tensors are \['x', 'y'\]",
        ),
        (
            "(Tensor x, float c) -> Tensor y",
            {"x": "H", "y": "H"},
            {},
            "op 'a' takes more than tensors: give inputs=, a function that makes them",
        ),
        (
            "(Tensor x) -> Tensor y",
            {"x": "H", "y": "H"},
            {"parameters": ("y",)},
            r"op 'a': parameters \['y'\] are no tensor inputs",
        ),
    ],
)
def test_definitions_that_are_refused(
    schema: str, shapes: dict[str, str], fields: dict[str, Any], message: str
) -> None:
    """A shape that cannot be told from the inputs, or that has no sense at a declared size, is refused where it is written."""
    with pytest.raises(DefinitionError, match=f"^{message}$"):
        op("a", schema, shapes, **fields)


@pytest.mark.parametrize("size", [(3,), (3, 7, 1), (3, -7), (3, 7.0), ("3", "7")])
def test_check_size_that_does_not_fit_the_letters(size: Any) -> None:
    """A check_size of other length or kind is refused where it is written."""
    with pytest.raises((DefinitionError, InputError), match=r"want 2 non-negative integers \(H, K\)"):
        op("a", "(Tensor x, Tensor w) -> Tensor y", {"x": "H", "w": "K", "y": "H"}, check_size=size)


def test_which_sizes_an_op_allows() -> None:
    """A size is allowed when no extent is negative; zero is none."""
    valid = registry.ops["sliding"]
    assert valid.allows((7, 3)) and valid.allows((2, 3)) and valid.allows((0, 1)) and not valid.allows((1, 3))
    assert registry.ops["alike"].allows((0,))


def test_plain_cases_are_one_whatever_their_group() -> None:
    """A case of any rank is not a plain one, so that it is compared by itself."""
    assert Case("a", (3,)).plain and not Case("a", (3,), view=(3,)).plain and Case("a", (3,)) == Case("b", (3,))
