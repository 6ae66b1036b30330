"""The room of c x, beyond what `li.check` looks at."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import lltm_inline as li
from tests.ops.rooms import assert_found, assert_right, build_all, each_planted, gradients, randn
from tests.planted.kernels import Planted
from tests.planted.mul_constant import PLANTED, kernel_of

ATEN = "mul_constant/aten"
#: Takes d_y as a plain tensor.
MATERIALIZES = li.registry[ATEN].replace(
    cpp=li.registry[ATEN]
    .cpp.replace("const std::optional<at::Tensor>& d_y", "const at::Tensor& d_y")
    .replace("!d_y || ", "")
    .replace("*d_y", "d_y")
)


class NoGradient(torch.autograd.Function):
    """The identity, whose backward gives no gradient."""

    @staticmethod
    def forward(ctx: Any, y: torch.Tensor) -> torch.Tensor:
        return y.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> None:
        return None


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build everything at once."""
    build_all(ATEN, MATERIALIZES)


@pytest.mark.parametrize("name", ("mul_constant/python", ATEN))
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes the check."""
    assert_right(name)


@each_planted(PLANTED)
def test_planted_error_is_found(planted: Planted) -> None:
    """Each wrong kernel is rejected for its own reason."""
    assert_found(planted, kernel_of(planted))


@pytest.mark.parametrize("c", [0.1, 3, 0, -0.0, 1e300, float("inf"), float("nan"), True])
def test_any_python_number(c: float) -> None:
    """Whole numbers, zeros and infinities multiply as in Python, to the bit, and backward has the same constant."""
    x, d_y = randn(5), randn(5, seed=1)
    torch.testing.assert_close(li.load(ATEN)(x, c), x * c, rtol=0, atol=0, equal_nan=True)
    (d_x,) = gradients(lambda x: li.load(ATEN)(x, c), [x], d_y)
    torch.testing.assert_close(d_x, d_y * c, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3)], ids=str)
def test_constant_leaves_the_dtype(shape: tuple[int, ...]) -> None:
    """A Python number makes no double of a float tensor, a scalar one included."""
    x = randn(*shape, dtype=torch.float32)
    assert li.load(ATEN)(x, 0.1).dtype == torch.float32
    assert gradients(lambda x: li.load(ATEN)(x, 0.1), [x])[0].dtype == torch.float32


def test_two_constants_in_one_graph() -> None:
    """Each call keeps its own c for backward."""
    x = randn(4).requires_grad_()
    y = li.load(ATEN)(li.load(ATEN)(x, 2.0), 5.0) + li.load(ATEN)(x, 0.5)
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.full((4,), 10.5).double())


@pytest.mark.parametrize("kernel", [ATEN, MATERIALIZES], ids=["optional", "plain"])
def test_undefined_gradient_stays_undefined(kernel: li.Kernel | str) -> None:
    """Where nothing comes in nothing goes out, so that an optimizer does not move what has no gradient."""
    x = randn(4).requires_grad_()
    NoGradient.apply(li.load(kernel)(x, 2.0)).sum().backward()
    assert x.grad is None
    optimizer = torch.optim.SGD([x], lr=1.0, weight_decay=0.5)
    before = x.detach().clone()
    optimizer.step()
    assert torch.equal(x.detach(), before)


def test_both_ways_to_take_a_gradient_are_right() -> None:
    """As `std::optional` or as a plain tensor: a kernel of one output is right with either."""
    interfaces = [li.load(kernel).interface for kernel in (ATEN, MATERIALIZES)]
    assert [interface and interface.optional_grads for interface in interfaces] == [(True,), (False,)]
    assert li.check(MATERIALIZES, progress=False).ok


@pytest.mark.parametrize("arguments", [(), (1.0, 2.0), ("two",), (torch.ones(2),)], ids=str)
def test_constant_must_be_one_number(arguments: tuple[Any, ...]) -> None:
    """A missing constant, two of them, a string or a tensor of two is a TypeError that shows the signature."""
    with pytest.raises(TypeError, match=r"mul_constant/aten\(Tensor x, float c\) -> \(Tensor y\)"):
        li.load(ATEN)(torch.ones(3), *arguments)
