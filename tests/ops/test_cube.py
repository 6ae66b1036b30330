"""The room of x^3, beyond what `li.check` looks at: above all, derivatives of derivatives."""

from __future__ import annotations

import pytest
import torch

import lltm_inline as li
from tests.ops.rooms import assert_found, assert_right, build_all, each_planted, randn
from tests.planted.cube import PLANTED, kernel_of
from tests.planted.kernels import Planted

ATEN = "cube/aten"
ONCE = li.registry[ATEN].replace(double_backward=False)
WRONG_TWICE = ("intermediate_as_extra", "cut_out_of_the_graph", "pointers_in_backward", "intermediate_in_ctx")


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build everything at once."""
    build_all(ATEN)


def leaf() -> torch.Tensor:
    """Draw an input that wants a gradient."""
    return randn(7).requires_grad_()


@pytest.mark.parametrize("name", ("cube/python", ATEN))
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes the check."""
    assert_right(name)


@each_planted(PLANTED)
def test_planted_error_is_found(planted: Planted) -> None:
    """Each wrong kernel is rejected for its own reason."""
    assert_found(planted, kernel_of(planted))


@pytest.mark.parametrize("name", ("cube/python", ATEN))
def test_gradgradcheck(name: str) -> None:
    """First and second derivatives are those of finite differences, for both outputs and for each alone."""
    function = li.load(name)
    for pick in (lambda x: function(x), lambda x: function(x)[0], lambda x: function(x)[1]):
        assert torch.autograd.gradcheck(pick, (leaf(),))
        assert torch.autograd.gradgradcheck(pick, (leaf(),))


@pytest.mark.parametrize("name", ("cube/python", ATEN))
def test_derivatives_of_a_cube(name: str) -> None:
    """3 x^2, 6 x, 6 and 0: the third derivative goes through backward twice."""
    x = leaf()
    y, _ = li.load(name)(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    torch.testing.assert_close(first, 3 * x**2)
    torch.testing.assert_close(second, 6 * x)
    torch.testing.assert_close(third, torch.full_like(x, 6))


@pytest.mark.full
@pytest.mark.parametrize("name", WRONG_TWICE)
def test_the_wrong_way_is_right_once(name: str) -> None:
    """The first derivative of these is right and gradcheck is content: only the second one tells, and gradgradcheck sees it."""
    function = li.load(kernel_of(PLANTED[name]))
    x = leaf()
    torch.testing.assert_close(torch.autograd.grad(function(x)[0].sum(), x)[0], 3 * x**2)
    assert torch.autograd.gradcheck(lambda x: function(x), (leaf(),))
    with pytest.raises(RuntimeError):
        torch.autograd.gradgradcheck(lambda x: function(x), (leaf(),))


@pytest.mark.full
def test_without_the_flag_a_second_derivative_is_an_error() -> None:
    """The same text without double_backward=True differentiates once, and says so when asked again."""
    x = leaf()
    y, _ = li.load(ONCE)(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.testing.assert_close(first, 3 * x**2)
    with pytest.raises(
        RuntimeError, match="kernel cube/aten has no second derivative: its backward is not differentiable"
    ):
        first.sum().backward()
    assert li.check(ONCE, progress=False).ok


def test_undefined_gradients_are_left_out() -> None:
    """Backward gets nothing for an output that nobody uses, and leaves its term out: an infinite x harms no other term."""
    function = li.load(ATEN)
    x = torch.tensor([torch.inf, 2.0], dtype=torch.float64)
    y, dx = function.forward(x)
    assert torch.equal(function.backward([None, torch.ones(2).double()], [x], [y, dx], [True])[0], 6 * x)
    # As zeros, d_y would make a nan of it: 0 * inf.
    assert function.backward([torch.zeros(2).double(), torch.ones(2).double()], [x], [y, dx], [True])[0][0].isnan()
    ones = torch.ones(2, dtype=torch.float64)
    assert torch.equal(function.backward([ones, None], [x], [y, dx], [True])[0], 3 * x**2)


@pytest.mark.parametrize("threads", [1, 3])
def test_values_above_the_grain(threads: int) -> None:
    """Both outputs come out of one pass, whatever threads make it, in any layout."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for x in (randn(200_003), randn(4, 6).t(), randn(9)[::2], randn()):
            y, dx = li.load(ATEN)(x)
            torch.testing.assert_close(y, x * x * x, rtol=1e-15, atol=0)
            torch.testing.assert_close(dx, 3 * x * x, rtol=1e-15, atol=0)
    finally:
        torch.set_num_threads(before)
