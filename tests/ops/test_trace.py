"""The room of the trace, beyond what `li.check` looks at."""

from __future__ import annotations

import pytest
import torch

import lltm_inline as li
from tests.ops.rooms import assert_found, assert_right, build_all, each_planted, gradients, randn
from tests.planted.kernels import Planted
from tests.planted.trace import PLANTED, kernel_of

#: An accessor of three axes over a matrix, which is found out when it is made.
THREE_AXES = (
    ("x.accessor<const scalar_t, 2>()", "x.accessor<const scalar_t, 3>()"),
    ("sum += x_a[i][i]", "sum += x_a[i][i][0]"),
)


def with_three_axes() -> li.Kernel:
    """Make the kernel whose accessor does not fit."""
    text = li.registry["trace/accessor"].cpp
    for old, new in THREE_AXES:
        text = text.replace(old, new)
    return li.registry["trace/accessor"].replace(cpp=text)


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build everything at once."""
    build_all("trace/accessor", with_three_axes())


@pytest.mark.parametrize("name", ("trace/python", "trace/accessor"))
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes the check."""
    assert_right(name)


@each_planted(PLANTED)
def test_planted_error_is_found(planted: Planted) -> None:
    """Each wrong kernel is rejected for its own reason."""
    assert_found(planted, kernel_of(planted))


@pytest.mark.parametrize("shape", [(3, 3), (3, 17), (17, 3), (1, 5), (5, 1), (0, 4), (4, 0), (0, 0)], ids=str)
def test_matrices_that_are_not_square(shape: tuple[int, int]) -> None:
    """The diagonal ends at the shorter side: y is the sum of what numpy calls the diagonal, and d_x is 1 there and 0 elsewhere."""
    x = randn(*shape)
    assert li.load("trace/accessor")(x).item() == pytest.approx(x.numpy().diagonal().sum(), abs=1e-14)
    (d_x,) = gradients(li.load("trace/accessor"), [x])
    assert torch.equal(d_x, torch.eye(*shape, dtype=torch.float64))


def test_views_are_read_where_they_lie() -> None:
    """Transposed, sliced, flipped by a stride, and overlapping matrices are read by their strides."""
    x = randn(6, 10)
    for view in (x.t(), x[1:, ::3], x[::2, 2:], x[:, :1].expand(6, 4), x.as_strided((3, 3), (2, 1), 5), x.t()[3:]):
        assert li.load("trace/accessor")(view).item() == pytest.approx(view.diagonal().sum().item(), abs=1e-14)


def test_sum_of_many_floats_is_exact() -> None:
    """Ten thousand floats are summed in double: adding up 0.1 in float would be off in the fourth digit."""
    x = torch.full((1,), 0.1).expand(10_000, 10_000)
    y = li.load("trace/accessor")(x)
    assert y.dtype == torch.float32 and y.item() == pytest.approx(10_000 * torch.tensor(0.1).item(), rel=1e-7)


def test_matrix_is_not_kept_alive() -> None:
    """What backward is handed has the shape and no elements; the memory of x is free after forward."""
    y, shape = li.load("trace/accessor").forward(randn(7, 5))
    assert shape.shape == (7, 5, 0) and y.shape == () and li.registry["trace/accessor"].saves == ()
    leaf = randn(7, 5).requires_grad_()
    between = leaf * 1
    y = li.load("trace/accessor")(between)
    between.data = torch.empty(0, dtype=torch.float64)
    assert torch.equal(torch.autograd.grad(y, leaf)[0], torch.eye(7, 5, dtype=torch.float64))


def test_accessor_of_another_rank_is_an_error() -> None:
    """An accessor counts the axes when it is made, and says what it found."""
    with pytest.raises(RuntimeError, match="TensorAccessor expected 3 dims but tensor has 2"):
        li.load(with_three_axes())(randn(3, 4))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(3), r"x has shape \(3\), want \(R, C\)"),
        (torch.ones(2, 3, 4), r"x has shape \(2, 3, 4\), want \(R, C\)"),
        (torch.ones(3, 3).long(), "x is Long, want Float or Double"),
    ],
)
def test_what_is_no_matrix_is_refused(x: torch.Tensor, message: str) -> None:
    """Other ranks and dtypes are a clear error, before the accessor's own."""
    with pytest.raises(RuntimeError, match=f"^trace/accessor: {message}$"):
        li.load("trace/accessor")(x)
