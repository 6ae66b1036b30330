"""The room of the linear layer, beyond what `li.check` looks at."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.check import check
from tests.ops.rooms import assert_found, build_all, each_planted
from tests.planted.kernels import Planted
from tests.planted.linear import PLANTED, kernel_of

OP = li.registry.ops["linear"]
NAME = "linear/aten"
SIZES = [(1, 1, 1), (3, 17, 5), (0, 3, 5), (3, 0, 5), (3, 5, 0), (129, 7, 127)]


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build the kernel and the wrong ones at once, several compilers beside each other."""
    build_all(NAME)


def inputs(size: tuple[int, int, int], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Draw one set of inputs."""
    generator = torch.Generator().manual_seed(0)
    return list(OP.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), size))


@pytest.mark.parametrize("name", ["linear/python", NAME])
def test_kernels_are_right(name: str) -> None:
    """What ships passes every section of the check."""
    report = check(name, progress=False)
    assert report.ok, str(report)


@each_planted(PLANTED)
def test_planted_error_is_found_for_its_own_reason(planted: Planted) -> None:
    """Each planted kernel is rejected, in the section, for the quantity and with the words that name its defect."""
    assert_found(planted, kernel_of(planted))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_follow_the_formula(size: tuple[int, int, int]) -> None:
    """y and the three gradients are sums of products over one index each, written out as such."""
    leaves = [value.requires_grad_() for value in inputs(size)]
    x, weight, bias = leaves
    y = li.load(NAME)(*leaves)
    d_y = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(1))
    gradients = torch.autograd.grad(y, leaves, d_y)
    torch.testing.assert_close(y, torch.einsum("ni,oi->no", x, weight) + bias)
    formulas = ("no,oi->ni", d_y, weight), ("no,ni->oi", d_y, x), ("no->o", d_y)
    for gradient, (formula, *factors) in zip(gradients, formulas, strict=True):
        torch.testing.assert_close(gradient, torch.einsum(formula, *factors))


def test_bias_may_be_left_out_in_three_ways() -> None:
    """None, no argument at all and a named None are the same, and neither output nor gradients know of a bias."""
    x, weight, _ = inputs((3, 17, 5))
    function = li.load(NAME)
    want = x @ weight.t()
    for got in (function(x, weight), function(x, weight, None), function(x, weight, bias=None)):
        torch.testing.assert_close(got, want)
    weight.requires_grad_()
    (gradient,) = torch.autograd.grad(function(x, weight).sum(), [weight])
    torch.testing.assert_close(gradient, x.sum(0).expand(5, 17))


def test_only_wanted_gradients_are_computed() -> None:
    """backward gives a tensor where a flag is set and None elsewhere, for every set of flags."""
    values = inputs((3, 17, 5))
    function = li.load(NAME)
    results = function.forward(*values)
    for wanted in itertools.product((False, True), repeat=3):
        gradients = function.backward([torch.ones_like(results[0])], values, results, wanted)
        assert tuple(gradient is not None and gradient.numel() > 0 for gradient in gradients) == wanted


def test_expanded_and_transposed_gradients() -> None:
    """A gradient with stride 0 from `.sum()`, or one that comes transposed, is read by its strides."""
    for loss in (lambda y: y.sum(), lambda y: (y.t()[::2] * torch.arange(9.0, dtype=y.dtype)).sum()):
        gradients = []
        for call in (li.load(NAME), OP.reference):
            leaves = [value.requires_grad_() for value in inputs((9, 4, 7))]
            gradients.append(torch.autograd.grad(loss(call(*leaves)), leaves))
        for got, want in zip(*gradients, strict=True):
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({1: torch.zeros(5, 16)}, r"linear/aten: weight has shape \(5, 16\), want \(O, I\) = \(5, 17\)"),
        ({2: torch.zeros(4)}, r"linear/aten: bias has shape \(4\), want \(O\) = \(5\)"),
        ({2: torch.zeros(1, 5)}, r"linear/aten: bias has shape \(1, 5\), want \(O\)"),
        ({0: torch.zeros(2, 3, 17)}, r"linear/aten: x has shape \(2, 3, 17\), want \(N, I\)"),
        ({2: torch.zeros(5, dtype=torch.float64)}, "linear/aten: bias is Double, but x is Float"),
        ({0: torch.zeros(3, 17, dtype=torch.int64)}, "linear/aten: x is Long, want Float or Double"),
    ],
)
def test_bad_input_is_refused_by_name(change: dict[int, torch.Tensor], text: str) -> None:
    """Wrong shapes, ranks and dtypes name the argument, what it has and what it should have; an optional one too."""
    values = inputs((3, 17, 5), torch.float32)
    for place, value in change.items():
        values[place] = value
    with pytest.raises(RuntimeError, match=text):
        li.load(NAME)(*values)


def test_holds_only_its_inputs() -> None:
    """Nothing is kept for backward but x and weight, which live anyway: forward returns y alone."""
    assert len(li.load(NAME).forward(*inputs((3, 17, 5)))) == 1
    assert li.registry[NAME].saves == ("x", "weight")


def test_grain_cuts_the_work_elsewhere_and_nothing_else() -> None:
    """A bias written by many small parts of the batch gives the same bits."""
    values = inputs((67, 5, 33))
    small = li.registry[NAME].replace(params={"GRAIN": 1})
    assert torch.equal(li.load(small)(*values), li.load(NAME)(*values))


def test_cost_counts_one_gemm_a_direction() -> None:
    """A multiply-add counts as two, and the gradients of weight and bias cost one GEMM."""
    assert OP.cost is not None
    cost = OP.cost(4, N=64, I=32, O=16)
    gemm = 2 * 64 * 32 * 16
    assert cost.forward_flops == cost.backward_flops == gemm + 64 * 16
    assert cost.forward_bytes == 4 * (64 * 32 + 16 * 32 + 16 + 64 * 16)


def test_import_compiles_nothing() -> None:
    """The room registers its two kernels, the reference first, and does not load the machinery of builds."""
    code = (
        "import sys, lltm_inline as li; print(*[n for n in li.registry if n.startswith('linear/')]);"
        "print('torch.utils.cpp_extension' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["linear/python linear/aten", "False"]
