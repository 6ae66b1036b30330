"""The room of A x + y, beyond what `li.check` looks at."""

from __future__ import annotations

import pytest
import torch

import lltm_inline as li
from tests.ops.rooms import assert_found, assert_right, build_all, each_planted, gradients, randn
from tests.planted.axpy import PLANTED, kernel_of
from tests.planted.kernels import Planted

BUILT = ("axpy/aten", "axpy/cpp")


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build everything at once."""
    build_all(*BUILT)


@pytest.mark.parametrize("name", ("axpy/python", *BUILT))
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes the check."""
    assert_right(name)


@each_planted(PLANTED)
def test_planted_error_is_found(planted: Planted) -> None:
    """Each wrong kernel is rejected for its own reason."""
    assert_found(planted, kernel_of(planted))


def test_another_factor_is_another_op() -> None:
    """A revision with A = 3 builds and runs, and check says that it is not the op, in values and gradients."""
    kernel = li.registry["axpy/cpp"].replace(params={"A": 3})
    assert li.load(kernel)(torch.ones(2), torch.ones(2)).tolist() == [4, 4]
    found = {finding.quantity: str(finding) for finding in li.check(kernel, progress=False).findings}
    assert "got is 1.5 times want throughout" in found["d_x"] and "z" in found and "d_y" not in found


def test_factor_that_is_no_whole_number_leaves_the_dtype() -> None:
    """A = 2.5 does not turn float arithmetic into double, nor a float result."""
    z = li.load(li.registry["axpy/cpp"].replace(params={"A": 2.5}))(torch.ones(3), torch.ones(3))
    assert z.dtype == torch.float32 and z.tolist() == [3.5, 3.5, 3.5]


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_values_are_exact_on_any_number_of_threads(name: str, dtype: torch.dtype, threads: int) -> None:
    """2 x is exact and the sum is rounded once, with or without a fused multiply-add: no bit may differ, above the grain too."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for count in (5, 32_769, 200_003):
            x, y = randn(count, dtype=dtype), randn(count, dtype=dtype, seed=1)
            assert torch.equal(li.load(name)(x, y), x + x + y)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", BUILT)
def test_gradients_of_a_sum(name: str) -> None:
    """Gradients from .sum() have stride 0; d_x is 2 and d_y is 1 everywhere."""
    d_x, d_y = gradients(li.load(name), [randn(7, 3), randn(7, 3, seed=1)])
    assert torch.equal(d_x, torch.full((7, 3), 2.0).double()) and torch.equal(d_y, torch.ones(7, 3).double())


@pytest.mark.parametrize("name", BUILT)
def test_gradients_are_tensors_of_their_own(name: str) -> None:
    """d_y is equal to d_z and does not share its memory: torch.compile may write over either while the other is read."""
    function, x, d_z = li.load(name), randn(40), randn(40, seed=2)
    d_x, d_y = function.backward([d_z], [x, x], function.forward(x, x), [True, True])
    assert torch.equal(d_y, d_z) and torch.equal(d_x, 2 * d_z)
    assert len({tensor.untyped_storage().data_ptr() for tensor in (d_x, d_y, d_z)}) == 3
    d_x, d_y = function.backward([d_z], [x, x], function.forward(x, x), [False, True])
    assert d_x is None and torch.equal(d_y, d_z)


@pytest.mark.parametrize("name", BUILT)
def test_views_that_overlap_or_repeat(name: str) -> None:
    """Expanded and overlapping inputs, and one tensor in both places, are read by their strides."""
    base = randn(12)
    for x in (base[:1].expand(6), base.as_strided((2, 3), (1, 1)), base.view(3, 4).t(), base[::2], base[11]):
        assert torch.equal(li.load(name)(x, x), 3 * x.clone())


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (torch.ones(3), torch.ones(4), r"y has shape \(4\), want that of x, \(3\)"),
        (torch.ones(3, 5), torch.ones(5, 3), r"y has shape \(5, 3\), want that of x, \(3, 5\)"),
        (torch.ones(3, 5), torch.ones(1, 5), r"y has shape \(1, 5\), want that of x, \(3, 5\)"),
        (torch.ones(3), torch.ones(()), r"y has shape \(\), want that of x, \(3\)"),
        (torch.ones(3), torch.ones(3).double(), "y is Double, but x is Float"),
        (torch.ones(3).int(), torch.ones(3).int(), "x is Int, want Float or Double"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, x: torch.Tensor, y: torch.Tensor, message: str) -> None:
    """A shape mismatch is a clear error that names the input, and nothing is broadcast."""
    with pytest.raises(RuntimeError, match=f"^{name}: {message}$"):
        li.load(name)(x, y)


def test_cost_is_that_of_one_pass() -> None:
    """Three numbers move per element in each direction."""
    assert li.registry.ops["axpy"].cost is not None
    cost = li.registry.ops["axpy"].cost(4, N=10)
    assert (cost.forward_bytes, cost.forward_flops, cost.backward_bytes, cost.backward_flops) == (120, 20, 120, 10)
