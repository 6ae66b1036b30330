"""The room of sin(x) + sin(y), beyond what `li.check` looks at."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import lltm_inline as li
from tests.ops.rooms import assert_found, assert_right, build_all, each_planted, gradients, randn
from tests.planted.kernels import Planted
from tests.planted.sin_add import PLANTED, kernel_of


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build everything at once."""
    build_all("sin_add/aten")


@pytest.mark.parametrize("name", ("sin_add/python", "sin_add/aten"))
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes the check."""
    assert_right(name)


@each_planted(PLANTED)
def test_planted_error_is_found(planted: Planted) -> None:
    """Each wrong kernel is rejected for its own reason."""
    assert_found(planted, kernel_of(planted))


def test_source_is_one_line_and_has_no_backward() -> None:
    """It is the smallest inline source: a function of one line, and no derivative of its own."""
    function = li.load("sin_add/aten")
    assert function.interface is not None and not function.interface.has_backward
    assert len(function.kernel.cpp.strip().splitlines()) == 5
    with pytest.raises(li.errors.InputError, match="kernel 'sin_add/aten' has no backward of its own"):
        function.backward([randn(3)], [randn(3), randn(3)], [randn(3)], [True, True])


def test_gradients_are_cosines() -> None:
    """Autograd sees the calls inside: d_x = d_z cos(x), to the bit."""
    x, y, d_z = randn(2, 5), randn(2, 5, seed=1), randn(2, 5, seed=2)
    d_x, d_y = gradients(li.load("sin_add/aten"), [x, y], d_z)
    assert torch.equal(d_x, d_z * x.cos()) and torch.equal(d_y, d_z * y.cos())


def test_derivatives_of_every_order() -> None:
    """What differentiates through ATen does so as often as one likes: the fourth derivative of a sine is the sine."""
    x = randn(5).requires_grad_()
    function = li.load("sin_add/aten")
    assert torch.autograd.gradgradcheck(function, (x, randn(5, seed=1).requires_grad_()))
    derivative = function(x, x.detach())
    for _ in range(4):
        (derivative,) = torch.autograd.grad(derivative.sum(), x, create_graph=True)
    torch.testing.assert_close(derivative, x.sin())


def test_a_tracer_sees_the_calls_inside() -> None:
    """Tracing looks into a kernel without a backward, so that torch.compile can fuse its calls."""
    graph = make_fx(li.load("sin_add/aten"))(randn(3), randn(3))
    names = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert names == ["aten.sin.default", "aten.sin.default", "aten.add.Tensor"]


def test_what_does_not_fit_is_refused() -> None:
    """A shape mismatch is a clear error; ATen alone would broadcast."""
    with pytest.raises(RuntimeError, match=r"^sin_add/aten: y has shape \(1\), want that of x, \(3\)$"):
        li.load("sin_add/aten")(torch.ones(3), torch.ones(1))
